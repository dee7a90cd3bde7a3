// Lowerings of the batch norm overloads; their rows are in normalization.cc.
//
// Every overload that updates running statistics returns their new values after its results, in the
// order mean, variance; an overload that does not train returns them unchanged.
#pragma once

#include "lower/row.h"

namespace tpjrt::lower {

Outcome NativeBatchNorm(Context& c);            // `training` and optional running statistics
Outcome NativeBatchNormFunctional(Context& c);  // `training` only
Outcome NativeBatchNormNoStats(Context& c);     // `training`, no running statistics
Outcome NativeBatchNormNoTraining(Context& c);  // reads the running statistics
Outcome BatchNormWithUpdate(Context& c);        // trains; four results, the last one unused
Outcome BatchNormNoUpdate(Context& c);          // does not train; four results
Outcome NativeBatchNormBackward(Context& c);    // flags `train`, saved `save_invstd`
Outcome BatchNormBackward(Context& c);          // flags `update`, saved `save_var`

}  // namespace tpjrt::lower
