// What is checked of a shared library's file before dlopen sees it.
#pragma once

#include <cstdint>
#include <string>

namespace tpjrt::pjrt {

// Throws Error unless the file exists, is a 64-bit ELF shared object and holds every loadable
// segment. dlopen maps segments without comparing them with the file's size: a truncated file kills
// the process with SIGBUS.
void CheckSharedLibrary(const std::string& path);

// 64-bit hash of the content; reads the whole file.
uint64_t HashFile(const std::string& path);

}  // namespace tpjrt::pjrt
