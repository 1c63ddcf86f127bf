/** Reads the configuration again for a running server, one reload at a time. A configuration that is refused changes nothing. */
import { createConfigFingerprint } from '../../config/config-fingerprint.ts'
import { ConfigError } from '../../config/config.ts'
import type { GatewayConfig } from '../../config/config.ts'
import { findReloadErrors, mergeReloadedConfig } from './merge-reloaded-config.ts'
import type { EvaluatedConfig } from './merge-reloaded-config.ts'
import { collectSecrets } from '../../config/secrets.ts'
import { readCertificate } from '../../http/server/listen.ts'
import type { CertificatePair } from '../../http/server/listen.ts'
import type { Log } from '../../observability/log.ts'
import type { Store } from '../../domain/store.ts'
import type { Clock } from '../../system/clock.ts'
import { describeSystemError } from '../../system/operator-error.ts'
import { evaluateConfig } from './evaluate-config.ts'

/** What a reload did. */
export type ReloadReport =
  | { readonly ok: true; readonly changed: readonly string[]; readonly needsRestart: readonly string[] }
  | { readonly ok: false; readonly faults: readonly string[] }

/** The last reload. */
export interface ReloadRecord {
  readonly at: number
  readonly report: ReloadReport
}

interface ReloaderOptions {
  readonly config: GatewayConfig
  /** Number of serving threads. */
  readonly workers: number
  readonly hasDemo: boolean
  readonly log: Log
  readonly store: Pick<Store, 'cluster'>
  readonly clock: Pick<Clock, 'now'>
  readonly telemetry: { recordReload(isAccepted: boolean, at: number): void }
  /** Uses a checked configuration for new requests in all serving threads. */
  readonly apply: (config: GatewayConfig, certificate: CertificatePair | null) => void | Promise<void>
}

export class Reloader {
  readonly #options: ReloaderOptions
  #config: GatewayConfig
  #last: ReloadRecord | null = null
  #running: Promise<ReloadReport> | null = null
  /** The reload after the running one, which every request in the meantime shares: the running one may have read the file before. */
  #next: Promise<ReloadReport> | null = null

  constructor(options: ReloaderOptions) {
    this.#options = options
    this.#config = options.config
  }

  /** @param evaluate returns the configuration as the file has it now */
  reload(evaluate: () => Promise<EvaluatedConfig> = () => evaluateConfig()): Promise<ReloadReport> {
    if (this.#running !== null) return (this.#next ??= this.#running.then(() => this.#start(evaluate)))
    return this.#start(evaluate)
  }

  /** Null before the first reload. */
  get last(): ReloadRecord | null {
    return this.#last
  }

  #start(evaluate: () => Promise<EvaluatedConfig>): Promise<ReloadReport> {
    this.#next = null
    this.#running = this.#reload(evaluate)
      .then(
        (report) => this.#record(report),
        (error: unknown) => {
          this.#record({ ok: false, faults: [`It failed: ${describeSystemError(error)}.`] })
          throw error
        },
      )
      .finally(() => (this.#running = null))
    return this.#running
  }

  #record(report: ReloadReport): ReloadReport {
    const { clock, telemetry } = this.#options
    this.#last = { at: clock.now(), report }
    telemetry.recordReload(report.ok, this.#last.at)
    return report
  }

  async #reload(evaluate: () => Promise<EvaluatedConfig>): Promise<ReloadReport> {
    const { workers, hasDemo, log, store, apply } = this.#options
    try {
      const { config, changed, needsRestart } = mergeReloadedConfig(this.#config, await evaluate())
      const faults = findReloadErrors(config, { workers, hasDemo })
      if (faults.length > 0) throw new ConfigError(faults.join('\n'))
      const { tls } = config.listen
      const certificate = tls === null ? null : readCertificate(tls)
      log.addSecrets(collectSecrets(config))
      this.#config = config
      await apply(config, certificate)
      store.cluster?.setConfigFingerprint(createConfigFingerprint(config))
      log.log.info({ changed, needsRestart }, 'the configuration was reloaded')
      return { ok: true, changed, needsRestart }
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      const faults = error.message.split('\n')
      log.log.error({ faults }, 'the configuration was not reloaded, and everything stays as it was')
      return { ok: false, faults }
    }
  }
}
