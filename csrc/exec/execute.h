// Runs a compiled program on slots and buffers: the only place that reads, donates and replaces
// slot contents around an execution.
//
// Reading a slot and taking a reference is atomic under its lock, and so is donating and replacing:
// written slots stay locked, in address order, from the read of their old content until the new one
// is in place. No lock is held while another is waited for out of that order. A donation happens
// only when the slot is the buffer's only owner and the program reads it once; if the execution
// fails after it, the slot is poisoned.
#pragma once

#include <span>
#include <vector>

#include "exec/program_cache.h"
#include "exec/slot.h"

namespace tpjrt::exec {

// One parameter's value: a slot's content, or a buffer held by the caller.
struct Operand {
  Slot* slot = nullptr;
  const PhysicalType* type = nullptr;  // what the program expects of the slot
  BufferRef buffer;
  bool may_donate = false;  // compiled with an alias
};

// One output's destination: a slot to write, or nothing (the caller takes the new buffer).
struct Destination {
  Slot* slot = nullptr;
  const PhysicalType* type = nullptr;
};

// Issues the execution and returns without waiting (kDebug waits and throws its error). `results`
// gets one buffer per destination; entries of written slots are empty.
void Execute(const pjrt::Executable& executable, int device, std::span<Operand> operands,
             std::span<const Destination> destinations, std::vector<BufferRef>* results);

}  // namespace tpjrt::exec
