#include "lower/loss_reduction.h"

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/shape.h"
#include "lower/reducing.h"

namespace tpjrt::lower {

LossReduction ReductionOf(Context& c) {
  const int64_t reduction = c.Int("reduction");
  Require(reduction >= 0 && reduction <= 2,
          "a loss has reduction 0 (none), 1 (mean) or 2 (sum), got ", reduction);
  return static_cast<LossReduction>(reduction);
}

Value ReducedLoss(Context& c, Value loss) {
  switch (ReductionOf(c)) {
    case LossReduction::kNone:
      return Finished(c, loss);
    case LossReduction::kMean:
      return Finished(c, MeanOver(loss, AllDims(loss.rank())));
    case LossReduction::kSum:
      return Finished(c, ReduceOver(Monoid::kSum, loss, AllDims(loss.rank())));
  }
  Fail(ErrorCode::kInternal, "unknown loss reduction");
}

Value LossGradient(Context& c, DType dtype, const Dims& dims, int64_t count) {
  Value grad = hlo::BroadcastTo(c.TensorAs("grad_output", dtype), dims);
  if (ReductionOf(c) != LossReduction::kMean) return grad;
  return grad / static_cast<double>(count);
}

}  // namespace tpjrt::lower
