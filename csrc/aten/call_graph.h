// A call as the core sees it: inputs with their geometries, arguments as plain values.
#pragma once

#include <string>
#include <vector>

#include "aten/call.h"
#include "ir/node.h"

namespace tpjrt::aten {

// One input per use, in order.
std::vector<ir::Input> InputsOf(const Call& call);
// One argument per argument of the row's schema; tensors are numbered as their uses are.
std::vector<ir::Argument> ArgumentsOf(const Call& call);
// "float32[2, 3], int64[4]": for errors.
std::string TypesOf(const Call& call);

}  // namespace tpjrt::aten
