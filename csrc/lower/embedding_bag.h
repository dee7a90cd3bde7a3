// Sums, means and maxima of embedding rows over bags of indices, and their gradients.
#pragma once

#include "lower/row.h"

namespace tpjrt::lower {

// [rows, D] sums of grad's rows [n, D] by index; rows of `padding` (and bad indices) are dropped.
// With by_frequency each row is divided by how often its index occurs.
Value SumRows(Value grad, Value index, int64_t rows, int64_t padding, bool by_frequency);

Outcome EmbeddingBag(Context& c);
Outcome EmbeddingBagBackward(Context& c);
Outcome EmbeddingBagDenseBackward(Context& c);  // the bags come as offset2bag
Outcome EmbeddingBagWeightsBackward(Context& c);

}  // namespace tpjrt::lower
