// Strict mode: calling the compiler is an error. For the whole process; thread-safe.
#pragma once

namespace tpjrt::exec {

bool Strict();
void SetStrict(bool strict);

// Throws kFailedPrecondition in strict mode. Called where a program is about to be compiled.
void RequireMayCompile();

}  // namespace tpjrt::exec
