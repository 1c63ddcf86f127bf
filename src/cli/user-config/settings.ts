/** The settings of `svc config`: names, checks and file. Environment variables take precedence over the file. */
import { join } from 'node:path'
import type { Environment } from './credentials.ts'
import { getConfigFolder, readPrivateFile, writePrivateFile } from './credentials.ts'
import { CommandFailure, createUsageFailure } from '../failure.ts'
import type { LocalizedText } from '../../command-table/localized-text.ts'
import { parseJson } from '../../system/parse-json.ts'

/** The settings that `svc config` can set. The environment variable takes precedence where it is set. */
export const settings = {
  site_url: {
    variable: 'SVC_SITE_URL',
    preset: 'http://127.0.0.1:8787',
    summary: { en: "the service's site", zh: '服务站点地址' },
  },
  base_url: {
    variable: 'SVC_BASE_URL',
    preset: undefined,
    summary: { en: "the API's address, where it is not the site's", zh: 'API 地址（与站点不同时）' },
  },
  brand: {
    variable: 'SVC_BRAND',
    preset: 'svc',
    summary: { en: "the service's short name; svc login learns it", zh: '服务的短名称;svc login 会自动获取' },
  },
  model: { variable: 'SVC_MODEL', preset: 'auto', summary: { en: 'the model of svc chat', zh: 'svc chat 使用的模型' } },
  browser: {
    variable: 'SVC_BROWSER',
    preset: undefined,
    summary: { en: 'the browser of svc browser: a name or a path', zh: 'svc browser 使用的浏览器：名称或路径' },
  },
  browser_sandbox: {
    variable: 'SVC_BROWSER_SANDBOX',
    preset: 'on',
    summary: { en: 'on, or off where the browser cannot use its sandbox', zh: 'on；若浏览器无法使用沙箱则为 off' },
  },
  language: { variable: 'SVC_LANG', preset: undefined, summary: { en: 'en or zh', zh: 'en 或 zh' } },
} as const satisfies Record<
  string,
  { readonly variable: string; readonly preset: string | undefined; readonly summary: LocalizedText }
>

export type SettingName = keyof typeof settings

export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(settings, name)
}

interface Setting {
  readonly value: string | undefined
  readonly from: 'environment' | 'file' | 'default'
}

/** The settings file, `config.json` beside the sessions; it holds no secret. */
export class Settings {
  readonly path: string
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
    this.path = join(getConfigFolder(environment), 'config.json')
  }

  get(name: SettingName): Setting {
    const { variable, preset } = settings[name]
    const variableValue = this.#environment.variables[variable]
    if (variableValue !== undefined && variableValue !== '') return { value: variableValue, from: 'environment' }
    const fileValue = this.#read()[name]
    return typeof fileValue === 'string' ? { value: fileValue, from: 'file' } : { value: preset, from: 'default' }
  }

  /** Throws a usage failure for an invalid value. */
  set(name: SettingName, value: string): void {
    validateSetting(name, value)
    this.#write({ ...this.#read(), [name]: value })
  }

  unset(name: SettingName): void {
    const { [name]: _, ...rest } = this.#read()
    this.#write(rest)
  }

  #read(): Readonly<Record<string, unknown>> {
    const text = readPrivateFile(this.path)
    if (text === undefined) return {}
    try {
      const fileContent: unknown = parseJson(text)
      if (typeof fileContent === 'object' && fileContent !== null && !Array.isArray(fileContent))
        return fileContent as Readonly<Record<string, unknown>>
    } catch {
      // Reported by the sentence below.
    }
    throw new CommandFailure(
      'config_unreadable',
      { en: `The settings file is not a JSON object: ${this.path}`, zh: `配置文件不是 JSON 对象：${this.path}` },
      { hints: [{ en: 'correct it, or move it away', zh: '请修正或移走该文件' }] },
    )
  }

  #write(values: Readonly<Record<string, unknown>>): void {
    writePrivateFile(this.path, `${JSON.stringify(values, null, 2)}\n`)
  }
}

/** An http or https address without a user name and password. */
export function parseUrlSetting(name: string, value: string): URL {
  const url = URL.parse(value)
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:') && url.username === '' && url.password === '')
    return url
  throw createUsageFailure({
    en: `${name} must be an http or https address such as https://example.org, not '${value}'.`,
    zh: `${name} 必须是 http 或 https 地址（例如 https://example.org），而不是“${value}”。`,
  })
}

/** The prefix of headers and products. */
export function isBrand(value: string): boolean {
  return /^[a-z][a-z0-9]{1,15}$/.test(value)
}

/** Throws a usage failure for a value that cannot begin a header's name. */
export function parseBrandSetting(name: string, value: string): string {
  if (isBrand(value)) return value
  throw createUsageFailure({
    en: `${name} is 2 to 16 small letters and digits, not '${value}'; svc login learns it.`,
    zh: `${name} 应为 2 到 16 个小写字母和数字，而不是“${value}”；svc login 会自动获取。`,
  })
}

function validateSetting(name: SettingName, value: string): void {
  if (name === 'language' && value !== 'en' && value !== 'zh') {
    throw createUsageFailure({ en: `language is en or zh, not '${value}'.`, zh: `language 只能是 en 或 zh，而不是“${value}”。` })
  }
  if (name === 'browser_sandbox' && value !== 'on' && value !== 'off') {
    throw createUsageFailure({
      en: `browser_sandbox is on or off, not '${value}'.`,
      zh: `browser_sandbox 只能是 on 或 off，而不是“${value}”。`,
    })
  }
  if (name === 'site_url' || name === 'base_url') parseUrlSetting(name, value)
  if (name === 'brand' && value !== '') parseBrandSetting(name, value)
  if (value === '')
    throw createUsageFailure({
      en: `${name} needs a value; to forget it: svc config unset ${name}`,
      zh: `${name} 需要一个值；清除请用：svc config unset ${name}`,
    })
}
