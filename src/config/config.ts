/**
 * Reads and checks `gateway.config.ts`. Only this file reads the server's environment. The schema is in `schema/config-schema.ts`.
 *
 * A configuration is checked once, at start. An error stops the server with one sentence that names the field and the remedy. Unknown keys
 * are errors, because a misspelt limit would otherwise be no limit.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { z } from 'zod'
import { describeThrown } from '../system/operator-error.ts'
import { findCrossFieldErrors } from './checks/cross-checks.ts'
import { configSchema } from './schema/config-schema.ts'
import type { GatewayConfig, GatewayInput } from './schema/config-schema.ts'

export type { GatewayConfig, GatewayInput } from './schema/config-schema.ts'

/** An invalid configuration. The message is for the operator, one fault a line, and never contains a secret. */
export class ConfigError extends Error {
  /** The configuration file that has the faults; null where that is not known. */
  readonly file: string | null

  constructor(message: string, { file = null }: { readonly file?: string | null } = {}) {
    super(message)
    this.name = 'ConfigError'
    this.file = file
  }
}

/** The faults with the file that has them. */
export function describeConfigError({ message, file }: ConfigError): string {
  if (file === null) return message
  return [`${file} cannot work:`, ...message.split('\n').map((fault) => `  ${fault}`)].join('\n')
}

/** Reads environment variables for `gateway.config.ts`. Blank means unset, except that a blank secret is an error. */
class Environment {
  /** The value read from each variable, so that an error can name the variable that the operator set. */
  readonly #readValues = new Map<string, unknown>()

  text<Fallback extends string | null = null>(name: string, fallback: Fallback = null as Fallback): string | Fallback {
    const value = process.env[name]?.trim()
    if (value === undefined || value === '') return fallback
    this.#readValues.set(name, value)
    return value
  }

  /** The variable, or the content of the file that `<name>_FILE` names. A reload reads the file again, and a process keeps its variables. */
  secret(name: string): string | null {
    const value = process.env[name]
    const fileName = `${name}_FILE`
    const file = this.text(fileName)
    if (file !== null) {
      if (value !== undefined) throw new ConfigError(`${name} and ${fileName} are both set. Unset one of them.`)
      const content = readSecretFile(fileName, file)
      this.#readValues.set(fileName, content)
      return content
    }
    if (value === undefined) return null
    if (value.trim() === '') throw new ConfigError(`${name} is set but empty. Give it a value, or unset it.`)
    return this.text(name)
  }

  integer<Fallback extends number | null>(name: string, fallback: Fallback): number | Fallback {
    const value = this.text(name)
    if (value === null) return fallback
    if (!/^\d{1,9}$/.test(value)) throw new ConfigError(`${name} must be a whole number, not '${value}'.`)
    this.#readValues.set(name, Number(value))
    return Number(value)
  }

  list(name: string): string[] {
    const items = (this.text(name) ?? '')
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
    this.#readValues.set(name, items)
    return items
  }

  /** The variables whose value this is, or whose list contains it. */
  findVariables(value: unknown): string[] {
    return [...this.#readValues].flatMap(([name, read]) =>
      read === value || (Array.isArray(read) && read.includes(value)) ? [name] : [],
    )
  }
}

/** Editors and `echo` end a file with a line feed. */
function readSecretFile(variable: string, file: string): string {
  let content: string
  try {
    content = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`${variable}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'}).`)
  }
  const secret = content.trim()
  if (secret === '') throw new ConfigError(`${variable}: ${file} is empty.`)
  if (/[\r\n]/.test(secret)) throw new ConfigError(`${variable}: ${file} has more than one line.`)
  return secret
}

export const env = new Environment()

/** The environment of a process that evaluates a configuration: this one, with other values; undefined removes a variable. */
export function createChildEnvironment(changes: NodeJS.Dict<string>): NodeJS.ProcessEnv {
  return { ...process.env, ...changes }
}

/** Types a configuration. It is checked when the service starts, so that another file may import it and change parts first. */
export function defineGateway(input: GatewayInput): GatewayInput {
  return input
}

/** The configuration file: `GATEWAY_CONFIG`, else the shipped one. */
export function resolveConfigFile(): string {
  const chosenFile = env.text('GATEWAY_CONFIG')
  return chosenFile === null ? resolveShippedFile() : resolve(chosenFile)
}

function resolveShippedFile(): string {
  // Beside `src/` in a checkout, beside the compiled `src/` in the published package.
  return fileURLToPath(
    new URL(import.meta.url.endsWith('.ts') ? '../../gateway.config.ts' : '../../gateway.config.js', import.meta.url),
  )
}

/**
 * Makes `import base from 'svc-gateway/gateway.config.js'` and `from 'svc-gateway'` resolve to the running program, wherever the file is
 * and however the program was installed: as a dependency, globally, or as a checkout.
 *
 * @param module an address, or the name of a package
 */
export async function importModule(module: string): Promise<Readonly<Record<string, unknown>>> {
  const ownModules = new Map([
    ['svc-gateway', new URL(import.meta.url.endsWith('.ts') ? '../index.ts' : '../index.js', import.meta.url).href],
    ['svc-gateway/gateway.config.js', pathToFileURL(resolveShippedFile()).href],
  ])
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const url = ownModules.get(specifier)
      return url === undefined ? next(specifier, context) : { url, shortCircuit: true }
    },
  })
  try {
    return (await import(module)) as Readonly<Record<string, unknown>>
  } finally {
    hooks.deregister()
  }
}

/** Imports and checks a configuration file. @throws ConfigError that names it */
export async function loadConfig(file = resolveConfigFile()): Promise<GatewayConfig> {
  try {
    return checkLoaded(await importDefault(file))
  } catch (error) {
    throw error instanceof ConfigError ? new ConfigError(error.message, { file }) : error
  }
}

/** The check, and variables of the environment that the file ignores. */
function checkLoaded(imported: unknown): GatewayConfig {
  const places = ['BACKUP_TO', 'BACKUP_BUCKET'].filter((name) => env.text(name) !== null)
  // Before the check, whose findings about the one that is used would hide the mistake.
  if (places.length > 1) throw new ConfigError('BACKUP_TO and BACKUP_BUCKET are both set. Unset one of them.')
  const config = checkConfig(imported)
  // An ignored STORE_URL would be noticed too late: accounts and turns would be in a file that no other node sees.
  if ((env.text('STORE_URL') ?? env.text('STORE_URL_FILE')) !== null && config.store.url === null)
    throw new ConfigError("STORE_URL is set, but this configuration does not use it: set store.url = env.secret('STORE_URL').")
  if (env.text('PAYMENTS') !== null && !config.payments.demo)
    throw new ConfigError(
      "PAYMENTS is set, but this configuration does not use it: set payments.demo = env.text('PAYMENTS') ?? false, or unset it.",
    )
  const ignoredVariable = findIgnoredBackupVariable(config, places)
  if (ignoredVariable !== null) throw new ConfigError(ignoredVariable)
  return config
}

/** Of the shipped file: without a place no backup would be written. */
function findIgnoredBackupVariable({ backup }: GatewayConfig, places: readonly string[]): string | null {
  const others = [...backupVariables, ...places].filter((name) => env.text(name) !== null)
  if (backup !== null || others.length === 0) return null
  const remedy =
    places.length === 0 ? 'Set BACKUP_TO to a folder, or BACKUP_BUCKET.' : 'Set backup in it, as the shipped one does.'
  return `${others.join(', ')} would have no effect: the configuration writes no backups. ${remedy}`
}

const backupVariables = ['BACKUP_EVERY', 'BACKUP_PASSPHRASE_FILE', 'BACKUP_KEEP_DAYS', 'BACKUP_KEEP_WEEKS', 'BACKUP_KEEP_MONTHS']

/** Imports a configuration file for its plugins alone, whatever its values are now. @throws ConfigError */
export async function loadPlugins(file = resolveConfigFile()): Promise<GatewayConfig['plugins']> {
  const parsedPlugins = configSchema.shape.plugins.safeParse(Reflect.get(Object(await importDefault(file)), 'plugins'))
  if (!parsedPlugins.success) throw new ConfigError(`${file}: plugins are no list of plugins.`)
  return parsedPlugins.data
}

async function importDefault(file: string): Promise<unknown> {
  let module: Readonly<Record<string, unknown>>
  try {
    module = await importModule(pathToFileURL(file).href)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`${file} cannot be read: ${describeThrown(error)}`)
  }
  const { default: defaultExport } = module
  if (defaultExport === undefined)
    throw new ConfigError(`${file} must have a default export: export default defineGateway({ … })`)
  return defaultExport
}

/** Checks a configuration. @throws ConfigError with one sentence per error */
export function checkConfig(input: unknown): GatewayConfig {
  const parsedConfig = configSchema.safeParse(input)
  if (!parsedConfig.success)
    throw new ConfigError(
      parsedConfig.error.issues.map((issue) => appendSource(formatIssue(issue), issue.path, input)).join('\n'),
    )
  const errors = findCrossFieldErrors(parsedConfig.data)
  if (errors.length > 0) throw new ConfigError(errors.map((fault) => appendSource(fault, parsePath(fault), input)).join('\n'))
  return parsedConfig.data
}

/** An error begins with its path: `mail.smtpUrl must …`, `upstreams.main.baseUrl: …`. */
function parsePath(fault: string): readonly string[] {
  return (/^[\w.-]+/.exec(fault)?.[0] ?? '').split('.')
}

/** Appends the environment variables that the value came from. */
function appendSource(sentence: string, path: readonly PropertyKey[], input: unknown): string {
  const value = path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined),
    input,
  )
  if (value === undefined || value === null) return sentence
  const names = env.findVariables(value)
  // Two variables may have the same value; the sentence also names the field, so naming both is not misleading.
  return names.length === 0 ? sentence : `${sentence.replace(/\.$/, '')} (it comes from ${names.join(' or ')}).`
}

function formatIssue(issue: z.core.$ZodIssue): string {
  const place = issue.path.length === 0 ? 'The configuration' : issue.path.join('.')
  if (issue.code === 'unrecognized_keys') return formatUnknownKeys(place, issue.keys)
  if (issue.code === 'invalid_union')
    return `${place}: ${issue.errors.map((branch) => branch[0]?.message ?? issue.message).join('; or ')}.`
  return `${place}: ${issue.message}.`
}

function formatUnknownKeys(place: string, keys: readonly string[]): string {
  const describedKeys = keys.map((key) => {
    const newName = renamedKeys[key]
    return newName === undefined ? `'${key}'` : `'${key}' (it is now called '${newName}')`
  })
  return `${place}: unknown key ${describedKeys.join(', ')}.`
}

/** Former names of keys. Each name was used at one level only, so it identifies the key without its path. */
const renamedKeys: Readonly<Record<string, string | undefined>> = {
  connect: 'oauth',
  appSchemes: 'redirectSchemes',
  queue: 'maxPending',
  queueMs: 'maxPendingMs',
  answerFields: 'passResponseFields',
  passFields: 'passRequestFields',
  noticeMs: 'drainNoticeMs',
}
