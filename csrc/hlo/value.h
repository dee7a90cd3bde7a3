// An SSA value of the program under construction.
//
// A Value is a small handle (builder pointer + index), copied freely, valid as long as its Builder.
// Every function that makes one checks operand types itself: a mistake is an Error with the op's
// name and the operand types, never a parse error of the compiler. Operators require equal types on
// both sides; a C++ number on one side becomes a splat constant of the other's type.
#pragma once

#include <complex>
#include <cstdint>

#include "hlo/type.h"

namespace tpjrt::hlo {

class Builder;

class Value {
 public:
  Value() = default;  // empty: valid() is false
  Value(Builder* builder, int32_t id) : builder_(builder), id_(id) {}

  bool valid() const { return builder_ != nullptr; }
  Builder& builder() const { return *builder_; }
  int32_t id() const { return id_; }

  const Type& type() const;
  DType dtype() const { return type().dtype; }
  const Dims& dims() const { return type().dims; }
  int64_t rank() const { return type().rank(); }
  int64_t dim(int64_t i) const;  // negative counts from the end
  int64_t num_elements() const { return NumElements(dims()); }

 private:
  Builder* builder_ = nullptr;
  int32_t id_ = -1;
};

}  // namespace tpjrt::hlo
