/**
 * Python environments of the tests' own, made from pinned requirements and kept between runs in the user's cache folder. Their name contains a hash
 * of the requirements and of the interpreter, so a change makes a new one.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from '../cache-folder.ts'
import { findProgram } from '../require-program.ts'

/** The files in `test/system/python/requirements/`. */
export type EnvironmentName =
  | 'openai-3'
  | 'openai-2'
  | 'google-genai'
  | 'schemathesis'
  | 'api-specifications'
  | 'llama-cpp-python'
  | 'transformers-serve'
  | 'litellm-proxy'
  | 'aider'
  | 'proxies'
  | 's3-server'

const folder = join(import.meta.dirname, '../../system/python')
/** What the pinned packages need. */
const oldestMinor = 11

export interface Python {
  readonly path: string
  /** Major and minor, as in `3.11`. */
  readonly version: string
}

/** The interpreter, or the reason why there is none. */
export function findPython(): Python | { readonly reason: string } {
  for (const name of ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11']) {
    const path = findProgram(name)
    if (path === undefined) continue
    const { stdout } = spawnSync(path, ['-c', 'import sys; print(*sys.version_info[:2]); import venv, pip'], { encoding: 'utf8' })
    const [, major, minor] = /^(\d+) (\d+)/.exec(stdout) ?? []
    if (major !== '3' || Number(minor) < oldestMinor) continue
    if (spawnSync(path, ['-c', 'import venv, pip']).status === 0) return { path, version: `3.${minor}` }
  }
  return { reason: `Python 3.${oldestMinor} or later with venv and pip is not installed` }
}

/** The environment's interpreter. Installs the packages where they are not there yet. */
export async function openEnvironment(name: EnvironmentName, { path, version }: Python): Promise<string> {
  const requirements = join(folder, 'requirements', `${name}.txt`)
  const hash = createHash('sha256').update(version).update(readFileSync(requirements)).digest('hex').slice(0, 12)
  const home = join(cacheFolder, `python-${name}-${hash}`)
  const interpreter = (root: string): string => join(root, 'bin/python')
  if (existsSync(interpreter(home))) return interpreter(home)
  mkdirSync(cacheFolder, { recursive: true })
  // Made beside its place and renamed, so that an interrupted run leaves nothing that looks whole. Programs are started as `python -m …`.
  const draft = `${home}.${process.pid}`
  try {
    await runToEnd(path, ['-m', 'venv', '--without-pip', draft])
    await runToEnd(path, [
      '-m',
      'pip',
      '--python',
      interpreter(draft),
      'install',
      '--quiet',
      '--no-deps',
      '--no-compile',
      '-r',
      requirements,
    ])
    // What stands there has lost its interpreter.
    if (!existsSync(interpreter(home))) rmSync(home, { recursive: true, force: true })
    renameSync(draft, home)
  } catch (error) {
    // Another run may have been faster.
    if (!existsSync(interpreter(home))) throw error
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  return interpreter(home)
}

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
  /** Exit codes that are no failure. */
  readonly okay?: readonly number[]
}

/** Resolves with what was printed; rejects with it where the exit code is not 0. */
export function runToEnd(
  program: string,
  words: readonly string[],
  { env = process.env, cwd, okay = [0] }: RunOptions = {},
): Promise<string> {
  const child = spawn(program, words, { env, ...(cwd === undefined ? {} : { cwd }), stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  const keep = (piece: Buffer): void => void (printed += piece.toString())
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      if (okay.includes(code ?? -1)) resolve(printed)
      else reject(new Error(`${program} ${words.join(' ')} ended with ${code}:\n${printed.slice(-8_000)}`))
    })
  })
}
