// The in-place `_foreach` ops that optimizers and gradient clipping use: a whole parameter list in
// one program instead of one small program per parameter. OptimizerRows (optimizer.cc) hands them
// out.
//
// Variants with a list of numbers get no row: the numbers would be part of the program, and
// optimizers pass new ones at every step.
#pragma once

#include <span>

#include "lower/row.h"

namespace tpjrt::lower {

std::span<const Row> ForeachRows();

}  // namespace tpjrt::lower
