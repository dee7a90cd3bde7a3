#include "pjrt/shared_library.h"

#include <elf.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <vector>

#include "base/error.h"

namespace tpjrt::pjrt {
namespace {

std::ifstream OpenFile(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) {
    Fail(ErrorCode::kNotFound, "PJRT plugin \"", path, "\": ", std::strerror(errno),
         ". Give the path of a plugin's shared library.");
  }
  Require(S_ISREG(info.st_mode), "PJRT plugin \"", path,
          "\": not a regular file. Give the path of the shared library itself.");
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    Fail(ErrorCode::kFailedPrecondition, "PJRT plugin \"", path,
         "\": cannot be opened for reading: ", std::strerror(errno));
  }
  return file;
}

[[noreturn]] void ThrowTruncated(const std::string& path, uint64_t size) {
  Fail(ErrorCode::kInvalidArgument, "PJRT plugin \"", path, "\": the file is truncated (", size,
       " bytes, fewer than its headers describe). Install the plugin again.");
}

// Whether [offset, offset + length) lies inside `size` bytes; the sum may overflow.
bool Inside(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

Elf64_Ehdr ReadHeader(std::ifstream& file, const std::string& path, uint64_t size) {
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof(header));
  const auto got = static_cast<size_t>(file.gcount());
  const bool elf = got >= SELFMAG && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  Require(elf, "PJRT plugin \"", path, "\": not a shared library (no ELF header)");
  if (got < sizeof(header)) ThrowTruncated(path, size);
  Require(header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_type == ET_DYN &&
              header.e_phentsize == sizeof(Elf64_Phdr),
          "PJRT plugin \"", path, "\": not a 64-bit shared library");
  return header;
}

}  // namespace

void CheckSharedLibrary(const std::string& path) {
  std::ifstream file = OpenFile(path);
  file.seekg(0, std::ios::end);
  const auto size = static_cast<uint64_t>(file.tellg());
  file.seekg(0);
  const Elf64_Ehdr header = ReadHeader(file, path, size);
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  const size_t bytes = segments.size() * sizeof(Elf64_Phdr);
  if (!Inside(header.e_phoff, bytes, size)) ThrowTruncated(path, size);
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  file.read(reinterpret_cast<char*>(segments.data()), static_cast<std::streamsize>(bytes));
  if (!file) ThrowTruncated(path, size);
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && !Inside(segment.p_offset, segment.p_filesz, size)) {
      ThrowTruncated(path, size);
    }
  }
}

uint64_t HashFile(const std::string& path) {
  std::ifstream file = OpenFile(path);
  std::vector<uint64_t> block(size_t{1} << 17);
  uint64_t hash = 0x9e3779b97f4a7c15;
  uint64_t total = 0;
  while (file) {
    file.read(reinterpret_cast<char*>(block.data()),
              static_cast<std::streamsize>(block.size() * sizeof(uint64_t)));
    const auto got = static_cast<size_t>(file.gcount());
    std::memset(reinterpret_cast<char*>(block.data()) + got, 0, (8 - got % 8) % 8);
    for (size_t i = 0; i < (got + 7) / 8; ++i) {
      hash = (hash ^ block[i]) * 0xff51afd7ed558ccd;
      hash ^= hash >> 32;
    }
    total += got;
  }
  Check(file.eof(), "reading \"", path, "\" failed after ", total, " bytes");
  return (hash ^ total) * 0xc4ceb9fe1a85ec53;
}

}  // namespace tpjrt::pjrt
