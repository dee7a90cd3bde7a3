// Faults of values that only the running program sees: reported like bad indices, raised by the
// host at its next wait. The result is whatever the arithmetic gives.
#pragma once

#include "lower/context.h"

namespace tpjrt::lower {

// The second word of a report; an index fault has its limit there, which is positive.
enum class ValueFault : int64_t {
  kDivisionByZero = -1,
  kProbability = -2,        // negative, above 1 or NaN
  kDistribution = -3,       // a weight that is negative, infinite or NaN
  kEmptyDistribution = -4,  // weights that sum to 0
  kDeviation = -5,          // a negative standard deviation
};

// `bad`: bool of any dims; the fault is reported when any element holds.
void ReportValues(Value bad, ValueFault fault);

}  // namespace tpjrt::lower
