/**
 * Reads and checks `gateway.config.ts`, and is the only reader of the server's environment. Its shape stands in `shape.ts`.
 *
 * A configuration is checked once, at start. What is wrong stops the server with one sentence that names the place and the mend;
 * an unknown key is wrong, because a misspelt limit would otherwise be no limit.
 */
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { z } from 'zod'
import { crossFaults } from './faults.ts'
import { shape } from './shape.ts'
import type { GatewayConfig, GatewayInput } from './shape.ts'

export type { GatewayConfig, GatewayInput } from './shape.ts'

/** A configuration that cannot work. The message is for the operator and never quotes a secret. */
export class ConfigError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ConfigError'
  }
}

/** Reads the environment for `gateway.config.ts`. Blank means not set, except for a secret, where blank is a mistake. */
class Environment {
  /** What each variable was read as: a fault then names the variable that the operator wrote, not only the field. */
  readonly #read = new Map<string, unknown>()

  text<Fallback extends string | null = null>(name: string, fallback: Fallback = null as Fallback): string | Fallback {
    const value = process.env[name]?.trim()
    if (value === undefined || value === '') return fallback
    this.#read.set(name, value)
    return value
  }

  secret(name: string): string | null {
    const value = process.env[name]
    if (value === undefined) return null
    if (value.trim() === '') throw new ConfigError(`${name} is set but empty. Give it a value, or unset it.`)
    return this.text(name)
  }

  integer<Fallback extends number | null>(name: string, fallback: Fallback): number | Fallback {
    const value = this.text(name)
    if (value === null) return fallback
    if (!/^\d{1,9}$/.test(value)) throw new ConfigError(`${name} must be a whole number, not '${value}'.`)
    this.#read.set(name, Number(value))
    return Number(value)
  }

  list(name: string): string[] {
    const items = (this.text(name) ?? '')
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
    this.#read.set(name, items)
    return items
  }

  /** The variables that were read as this value, or as a list with it. */
  sourcesOf(value: unknown): string[] {
    return [...this.#read].flatMap(([name, read]) =>
      read === value || (Array.isArray(read) && read.includes(value)) ? [name] : [],
    )
  }
}

export const env = new Environment()

/** Types a configuration. It is checked when the service starts, so that another file may import it and change parts first. */
export function defineGateway(input: GatewayInput): GatewayInput {
  return input
}

/** The file to read: `GATEWAY_CONFIG`, else the one this package ships. */
export function configFile(): string {
  const chosen = env.text('GATEWAY_CONFIG')
  return chosen === null ? shippedFile() : resolve(chosen)
}

function shippedFile(): string {
  // Beside `src/` in a checkout, beside the compiled `src/` in the published package.
  return fileURLToPath(
    new URL(import.meta.url.endsWith('.ts') ? '../../gateway.config.ts' : '../../gateway.config.js', import.meta.url),
  )
}

/**
 * `import base from 'svc-gateway/gateway.config.js'` and `from 'svc-gateway'` mean the very program that reads the file, wherever the file
 * lies and however the program was installed: as a dependency, for all users, or as a checkout.
 */
async function importConfig(file: string): Promise<{ default?: unknown }> {
  const ours = new Map([
    ['svc-gateway', new URL(import.meta.url.endsWith('.ts') ? '../index.ts' : '../index.js', import.meta.url).href],
    ['svc-gateway/gateway.config.js', pathToFileURL(shippedFile()).href],
  ])
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const url = ours.get(specifier)
      return url === undefined ? next(specifier, context) : { url, shortCircuit: true }
    },
  })
  try {
    return (await import(pathToFileURL(file).href)) as { default?: unknown }
  } finally {
    hooks.deregister()
  }
}

/** Imports and checks a configuration file. @throws ConfigError */
export async function loadConfig(file = configFile()): Promise<GatewayConfig> {
  let module: { default?: unknown }
  try {
    module = await importConfig(file)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (module.default === undefined)
    throw new ConfigError(`${file} must have a default export: export default defineGateway({ … })`)
  const config = checkConfig(module.default)
  // A wish that was passed over would be found out too late: accounts and turns would be in a file that no other node sees.
  if (env.text('STORE_URL') !== null && config.store.url === null)
    throw new ConfigError("STORE_URL is set, but this configuration does not use it: say store.url = env.secret('STORE_URL').")
  return config
}

/** Checks a configuration. @throws ConfigError with one sentence for each fault */
export function checkConfig(input: unknown): GatewayConfig {
  const parsed = shape.safeParse(input)
  if (!parsed.success)
    throw new ConfigError(parsed.error.issues.map((issue) => withSource(sentenceOf(issue), issue.path, input)).join('\n'))
  const faults = crossFaults(parsed.data)
  if (faults.length > 0) throw new ConfigError(faults.map((fault) => withSource(fault, placeOf(fault), input)).join('\n'))
  return parsed.data
}

/** A fault's sentence begins with its place: `mail.smtpUrl must …`, `upstreams.main.baseUrl: …`. */
function placeOf(fault: string): readonly string[] {
  return (/^[\w.-]+/.exec(fault)?.[0] ?? '').split('.')
}

/** The sentence, and which variables of the environment gave the value it is about. */
function withSource(sentence: string, path: readonly PropertyKey[], input: unknown): string {
  const value = path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined),
    input,
  )
  if (value === undefined || value === null) return sentence
  const names = env.sourcesOf(value)
  // Two variables may have the same value; the sentence names the field as well, so naming both misleads nobody.
  return names.length === 0 ? sentence : `${sentence.replace(/\.$/, '')} (it comes from ${names.join(' or ')}).`
}

function sentenceOf(issue: z.core.$ZodIssue): string {
  const place = issue.path.length === 0 ? 'The configuration' : issue.path.join('.')
  if (issue.code === 'unrecognized_keys') return `${place}: unknown key ${issue.keys.map((key) => `'${key}'`).join(', ')}.`
  if (issue.code === 'invalid_union')
    return `${place}: ${issue.errors.map((branch) => branch[0]?.message ?? issue.message).join('; or ')}.`
  return `${place}: ${issue.message}.`
}
