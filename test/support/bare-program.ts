/**
 * A program as users start it. The test runner puts its own loaders into every child's NODE_OPTIONS, which makes each start slower
 * and breaks some programs; `env` takes them out again just before the program begins (it replaces itself, so signals still arrive).
 */
export function bareProgram(
  program: string,
  words: readonly string[],
  nodeOptions?: string,
): readonly [string, readonly string[]] {
  const without = nodeOptions === undefined ? ['-u', 'NODE_OPTIONS'] : [`NODE_OPTIONS=${nodeOptions}`]
  return ['env', [...without, program, ...words]]
}

/** What Node has compiled for another process of the tests, in the environment of a program that is run from source. */
export const keptCompiled: Readonly<Record<string, string>> =
  process.env['NODE_COMPILE_CACHE'] === undefined ? {} : { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }
