// Copies: the same elements in a new tensor, perhaps of another dtype.
#include "lower/families.h"
#include "lower/pointwise.h"

namespace tpjrt::lower {
namespace {

Outcome Clone(Context& c) { return c.Tensor("self"); }
// self gives dims and dtype, src the elements.
Outcome Copy(Context& c) { return Wide(c, "src", c.Result().dtype); }

constexpr Row kRows[] = {
    {"clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", Clone},
    {"copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", Copy},
};

}  // namespace

std::span<const Row> CopyRows() { return kRows; }

}  // namespace tpjrt::lower
