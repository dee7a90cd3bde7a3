// A parsed operator schema: names and types of arguments and results.
//
// Understands what native_functions prints ("add.Tensor(Tensor self, Tensor other, *, Scalar
// alpha=1) -> Tensor"); throws kInvalidArgument with the text on anything else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tpjrt::lower {

enum class ArgType {
  kTensor,
  kTensorList,
  kScalar,  // Scalar
  kScalarList,
  kFloat,
  kFloatList,
  kInt,  // int, SymInt
  kIntList,
  kBool,
  kBoolList,
  kDType,
  kString,
  kGenerator,
  kOther,  // Layout, Device, MemoryFormat, Dimname, Stream, Storage: never shapes the program
};

struct SchemaArg {
  std::string name;
  std::string type;  // as written
  ArgType kind = ArgType::kOther;
  bool optional = false;
  bool written = false;  // Tensor(a!)
  bool is_out = false;   // keyword-only and written
  bool keyword_only = false;
};

struct Schema {
  std::string name;      // "add"
  std::string overload;  // "Tensor", empty for the default overload
  std::vector<SchemaArg> arguments;
  int num_results = 0;
  std::vector<bool> result_written;  // the result is one of the written arguments
  // The only result is a Tensor[]: how many tensors depends on the arguments.
  bool returns_list = false;

  int IndexOf(std::string_view argument) const;  // -1 when there is none
  std::string FullName() const;                  // "add.Tensor"
};

Schema ParseSchema(std::string_view text);

}  // namespace tpjrt::lower
