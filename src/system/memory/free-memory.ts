/** Frees the memory now: a large buffer is otherwise kept until the next major garbage collection. Nothing may read or write it afterwards. */
export function freeMemory(memory: ArrayBufferLike): void {
  if (memory instanceof ArrayBuffer && !memory.detached) memory.transfer(0)
}
