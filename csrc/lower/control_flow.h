// Control flow nodes: graphs inside a graph become regions of one program.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/node.h"
#include "lower/program_inputs.h"

namespace tpjrt::lower {

// Lowers the nodes in order into `inputs`' builder and sets their results; returns the first that
// is not supported with the reason, or -1. `fault_nodes`: which node each fault of the builder is
// from.
int LowerNodes(const ir::Graph& graph, ProgramInputs& inputs, std::string* reason,
               std::vector<int>* fault_nodes = nullptr);

// Lowers one control node and sets its results; false and the reason when a region holds something
// that is not supported.
bool LowerControl(const ir::Node& node, ProgramInputs& inputs, std::string* reason);

// The first fault that was found, or none.
hlo::Value FirstFault(std::span<const hlo::Value> faults);

}  // namespace tpjrt::lower
