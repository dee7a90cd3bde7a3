// A tensor as a program takes it: which slot, how it lies on the buffer, and its words of the key.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include "exec/execute.h"
#include "exec/slot.h"
#include "ir/geometry.h"
#include "ir/key.h"
#include "ir/node.h"
#include "lower/lowering.h"

namespace tpjrt::aten {

// The tensor outlives the use.
struct TensorUse {
  const at::Tensor* tensor = nullptr;
  int argument = -1;
  exec::Slot* slot = nullptr;                // nullptr: a CPU scalar
  const exec::PhysicalType* type = nullptr;  // the buffer's, when the key was made
  exec::BufferRef buffer;                    // a reference to what is only read
  ir::Form form = ir::Form::kWhole;
  bool written = false;
};
using TensorUses = c10::SmallVector<TensorUse, 8>;

// How strided elements of `dtype` lie on a buffer of `type`; adds what shapes the program to `key`.
ir::Form AddGeometry(ir::KeyBuilder& key, c10::ScalarType dtype, at::IntArrayRef sizes,
                     at::IntArrayRef strides, int64_t offset, const exec::PhysicalType& type,
                     bool written);

void AddUndefined(ir::KeyBuilder& key);
void AddHostScalar(ir::KeyBuilder& key, c10::ScalarType dtype, bool wrapped);
// A 0-dim CPU tensor.
TensorUse UseHostScalar(const at::Tensor& tensor, ir::KeyBuilder& key);
// Locks the slot; takes a reference to its buffer when it is only read.
TensorUse UseDeviceTensor(const at::Tensor& tensor, bool written, ir::KeyBuilder& key);

// Throws PyTorch's errors for writes to tensors whose elements overlap each other's or another's.
void RefuseOverlap(const TensorUses& uses);

// The graph input this use is.
ir::Input InputOf(const TensorUse& use);
ir::Input InputOf(c10::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides,
                  int64_t offset, const exec::PhysicalType& type, ir::Form form);
// The value of a parameter that is an input of the graph: its buffer, its offset, its number.
exec::Operand OperandOf(const lower::Parameter& parameter, const TensorUse& use, int device);

}  // namespace tpjrt::aten
