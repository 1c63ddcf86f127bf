/** Which settings of a configuration a running server takes over, and which need a restart. */
import { isDeepStrictEqual } from 'node:util'
import type { GatewayConfig } from '../../config/config.ts'
import { findCrossFieldErrors } from '../../config/checks/cross-checks.ts'
import { describePlugins } from './describe-plugins.ts'

/** A configuration without its plugins, which are functions and cannot be sent to another thread or process. */
export type ConfigValues = Omit<GatewayConfig, 'plugins'>

/** A configuration that was read again. */
export interface EvaluatedConfig {
  readonly values: ConfigValues
  /** What `describePlugins` returns for its plugins. */
  readonly plugins: string
}

/** Whole sections, or those of their settings that nothing keeps from the start. */
const reloadable: Readonly<Partial<Record<keyof ConfigValues, 'all' | readonly string[]>>> = {
  products: 'all',
  prices: 'all',
  upstreams: 'all',
  apiFormats: 'all',
  search: 'all',
  notifications: 'all',
  site: 'all',
  exposeUpstreamHost: 'all',
  limits: [
    'addressRpm',
    'chatBodyBytes',
    'agentBodyBytes',
    'embeddingBodyBytes',
    'otherBodyBytes',
    'mcpBodyBytes',
    'accountBodiesBytes',
    'addressBodiesBytes',
    'allBodiesBytes',
    'answerBytes',
    'imageTokens',
    'connections',
  ] satisfies (keyof ConfigValues['limits'])[],
}

export interface MergedConfig {
  /** The running configuration with what can be reloaded. */
  readonly config: GatewayConfig
  /** Sections that were taken over and differ. */
  readonly changed: readonly string[]
  /** Settings that differ and stay as they are until a restart. */
  readonly needsRestart: readonly string[]
}

export function mergeReloadedConfig(running: GatewayConfig, evaluated: EvaluatedConfig): MergedConfig {
  const changedKeys: string[] = []
  const needsRestart: string[] = []
  const merge = (current: object, next: object, path: string, isReloadable: (key: string) => boolean): object =>
    Object.fromEntries(
      [...new Set([...Object.keys(current), ...Object.keys(next)])].map((key) => {
        const [before, after]: unknown[] = [Reflect.get(current, key), Reflect.get(next, key)]
        const isTaken = isReloadable(key)
        if (!isDeepStrictEqual(before, after)) (isTaken ? changedKeys : needsRestart).push(`${path}${key}`)
        return [key, isTaken ? after : before]
      }),
    )
  const { plugins, ...values } = running
  const sections = Object.entries(evaluated.values).map(([name, next]): [string, unknown] => {
    const section = name as keyof ConfigValues
    const current = values[section]
    const rule = reloadable[section] ?? []
    const isList = Array.isArray(current)
    const hasSettings = typeof current === 'object' && typeof next === 'object' && section !== 'plans' && !isList
    if (rule === 'all' || !hasSettings || current === null || next === null)
      return Object.entries(merge({ [name]: current }, { [name]: next }, '', () => rule === 'all'))[0] ?? [name, current]
    return [name, merge(current, next, `${name}.`, (key) => rule.includes(key))]
  })
  if (describePlugins(plugins) !== evaluated.plugins) needsRestart.push('plugins')
  return { config: { ...(Object.fromEntries(sections) as ConfigValues), plugins }, changed: changedKeys, needsRestart }
}

/**
 * What `svc-gateway check` would refuse, and what only a restart can provide; empty if a running server can use it.
 *
 * @param workers the threads that serve
 */
export function findReloadErrors(
  config: GatewayConfig,
  { workers, hasDemo }: { readonly workers: number; readonly hasDemo: boolean },
): string[] {
  const demo = Object.entries(config.upstreams).find(([, { baseUrl }]) => baseUrl === 'demo')
  return [
    ...findCrossFieldErrors({ ...config, workers }),
    ...(demo === undefined || hasDemo
      ? []
      : [`upstreams.${demo[0]}.baseUrl: the demo upstream starts with the server. Restart it.`]),
  ]
}
