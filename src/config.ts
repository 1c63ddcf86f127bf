/**
 * Reads and checks `gateway.config.ts`, and is the only reader of the server's environment. Its shape stands in `config-shape.ts`.
 *
 * A configuration is checked once, at start. What is wrong stops the server with one sentence that names the place and the mend;
 * an unknown key is wrong, because a misspelt limit would otherwise be no limit.
 */
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { z } from 'zod'
import { crossFaults } from './config-faults.ts'
import { shape } from './config-shape.ts'
import type { GatewayConfig, GatewayInput } from './config-shape.ts'

export type { GatewayConfig, GatewayInput } from './config-shape.ts'

/** A configuration that cannot work. The message is for the operator and never quotes a secret. */
export class ConfigError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ConfigError'
  }
}

/** Reads the environment for `gateway.config.ts`. Blank means not set, except for a secret, where blank is a mistake. */
export const env = {
  text<Fallback extends string | null = null>(name: string, fallback: Fallback = null as Fallback): string | Fallback {
    const value = process.env[name]?.trim()
    return value === undefined || value === '' ? fallback : value
  },
  secret(name: string): string | null {
    const value = process.env[name]
    if (value === undefined) return null
    if (value.trim() === '') throw new ConfigError(`${name} is set but empty. Give it a value, or unset it.`)
    return value.trim()
  },
  integer(name: string, fallback: number): number {
    const value = env.text(name)
    if (value === null) return fallback
    if (!/^\d{1,9}$/.test(value)) throw new ConfigError(`${name} must be a whole number, not '${value}'.`)
    return Number(value)
  },
  list(name: string): string[] {
    return (env.text(name) ?? '')
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
  },
}

/** Types a configuration. It is checked when the service starts, so that another file may import it and change parts first. */
export function defineGateway(input: GatewayInput): GatewayInput {
  return input
}

/** The file to read: `GATEWAY_CONFIG`, else the one this package ships. */
export function configFile(): string {
  const chosen = env.text('GATEWAY_CONFIG')
  if (chosen !== null) return resolve(chosen)
  // Beside `src/` in a checkout, beside the compiled `src/` in the published package.
  return fileURLToPath(
    new URL(import.meta.url.endsWith('.ts') ? '../gateway.config.ts' : '../gateway.config.js', import.meta.url),
  )
}

/** Imports and checks a configuration file. @throws ConfigError */
export async function loadConfig(file = configFile()): Promise<GatewayConfig> {
  let module: { default?: unknown }
  try {
    module = (await import(pathToFileURL(file).href)) as { default?: unknown }
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (module.default === undefined)
    throw new ConfigError(`${file} must have a default export: export default defineGateway({ … })`)
  return checkConfig(module.default)
}

/** Checks a configuration. @throws ConfigError with one sentence for each fault */
export function checkConfig(input: unknown): GatewayConfig {
  const parsed = shape.safeParse(input)
  if (!parsed.success) throw new ConfigError(parsed.error.issues.map(sentenceOf).join('\n'))
  const faults = crossFaults(parsed.data)
  if (faults.length > 0) throw new ConfigError(faults.join('\n'))
  return parsed.data
}

function sentenceOf(issue: z.core.$ZodIssue): string {
  const place = issue.path.length === 0 ? 'The configuration' : issue.path.join('.')
  if (issue.code === 'unrecognized_keys') return `${place}: unknown key ${issue.keys.map((key) => `'${key}'`).join(', ')}.`
  if (issue.code === 'invalid_union')
    return `${place}: ${issue.errors.map((branch) => branch[0]?.message ?? issue.message).join('; or ')}.`
  return `${place}: ${issue.message}.`
}
