/**
 * A program as users start it. The test runner puts its own loaders into every child's NODE_OPTIONS, which slows each start and breaks
 * some programs; `env` removes them just before the program begins (it replaces itself, so signals still arrive).
 */
export function toCleanCommand(
  program: string,
  args: readonly string[],
  nodeOptions?: string,
): readonly [string, readonly string[]] {
  const prefix = nodeOptions === undefined ? ['-u', 'NODE_OPTIONS'] : [`NODE_OPTIONS=${nodeOptions}`]
  return ['env', [...prefix, program, ...args]]
}

/** The compile cache of the test processes, as environment for a program that runs from source. */
export const compileCacheEnvironment: Readonly<Record<string, string>> =
  process.env['NODE_COMPILE_CACHE'] === undefined ? {} : { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }
