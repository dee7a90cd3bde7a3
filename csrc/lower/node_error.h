// What LowerGraph throws about one node; the text names its op.
#pragma once

#include "base/error.h"

namespace tpjrt::lower {

class NodeError : public Error {
 public:
  NodeError(const Error& error, int node) : Error(error), node_(node) {}
  int node() const { return node_; }

 private:
  int node_;
};

}  // namespace tpjrt::lower
