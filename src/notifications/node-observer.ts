/** What one node observes of itself: conditions that last, and how many of its turns were refused. */
import { readFile } from 'node:fs/promises'
import { X509Certificate } from 'node:crypto'
import { connect } from 'node:tls'
import type { GatewayConfig } from '../config/config.ts'
import type { Condition } from '../domain/notification.ts'
import type { MetricsJson } from '../observability/merge-metrics.ts'
import { formatDuration } from '../system/duration.ts'
import { listSamples } from './metric-samples.ts'
import type { Sample } from './metric-samples.ts'
import { TurnWindows } from './turn-windows.ts'
import type { TurnShares } from './turn-windows.ts'

export interface NodeFacts {
  readonly startedAt: number
  readonly conditions: readonly Condition[]
  readonly turns: TurnShares
  /** The last check of the ledger by this node. */
  readonly ledgerCheck: LedgerCheck | null
}

interface LedgerCheck {
  readonly at: number
  readonly mismatches: number
}

/** Of a certificate, in Unix milliseconds. */
export interface Validity {
  readonly beginsAt: number
  readonly endsAt: number
}

export interface ObserverDeps {
  readonly clock: { now(): number; monotonicMs(): number }
  readonly host: string
  /** Of all threads. */
  readonly readMetrics: () => Promise<readonly MetricsJson[]>
  /** Why emails are not being sent; null while they are. */
  readonly mailNote: () => string | null
  readonly isDatabaseFull: () => boolean
  /** Of the certificate at an https address; replaced in tests. */
  readonly readCertificate?: (url: URL) => Promise<Validity>
}

export type ObservedConfig = Pick<GatewayConfig, 'notifications' | 'store' | 'listen' | 'backup'>

type IncidentRules = GatewayConfig['notifications']['rules']

const dayMs = 86_400_000
const certificateCheckMs = 3_600_000
/** A condition that comes and goes at its limit ends only when there is this much more room. */
const hysteresis = 1.1

export class NodeObserver {
  readonly #deps: Required<ObserverDeps>
  readonly #startedAt: number
  readonly #turns = new TurnWindows()
  /** Monotonic time since which the breaker of a target has not been closed. */
  readonly #downSinceMs = new Map<string, number>()
  #mailFailedBefore = false
  #freeDiskBytes = Infinity
  #isDiskLow = false
  #backup = { failures: 0, ageSeconds: 0, hasFailed: false }
  #ledgerCheck: LedgerCheck | null = null
  #certificates: { readonly checkedMs: number; readonly conditions: readonly Condition[] } | null = null

  constructor(deps: ObserverDeps) {
    this.#deps = { readCertificate, ...deps }
    this.#startedAt = deps.clock.now()
  }

  /** Of another configuration, which may name other files and addresses. */
  forgetCertificates(): void {
    this.#certificates = null
  }

  recordLedgerCheck(mismatches: number): void {
    this.#ledgerCheck = { at: this.#deps.clock.now(), mismatches }
  }

  /** Call it every quarter of a minute. */
  async observe({ notifications: { rules }, store, listen, backup }: ObservedConfig): Promise<NodeFacts> {
    const metrics = await this.#deps.readMetrics()
    const { clock } = this.#deps
    return {
      startedAt: this.#startedAt,
      turns: this.#turns.add(metrics, clock.monotonicMs()),
      ledgerCheck: this.#ledgerCheck,
      conditions: [
        ...this.#findUpstreamsDown(metrics, rules),
        ...this.#findMailFailure(),
        ...this.#findDiskLow(metrics, rules, store),
        ...this.#findBackupFaults(metrics, backup),
        ...(await this.#findEndingCertificates(rules, listen)),
      ],
    }
  }

  #findUpstreamsDown(metrics: readonly MetricsJson[], { upstreamDownMs }: IncidentRules): Condition[] {
    const { clock } = this.#deps
    const states = new Map<string, number>()
    for (const { labels, value } of listSamples(metrics, 'svc_upstream_breaker_state'))
      states.set(labels['target'] ?? '', Math.max(value, states.get(labels['target'] ?? '') ?? 0))
    for (const target of this.#downSinceMs.keys()) if ((states.get(target) ?? 0) === 0) this.#downSinceMs.delete(target)
    for (const [target, state] of states)
      // Half open too: that is an open breaker whose probe has not come yet.
      if (state > 0 && !this.#downSinceMs.has(target)) this.#downSinceMs.set(target, clock.monotonicMs())
    return [...this.#downSinceMs]
      .filter(([, since]) => clock.monotonicMs() - since >= upstreamDownMs)
      .map(([target]) => ({
        kind: 'upstream_down',
        subject: target,
        text: `The upstream target ${target} fails: its circuit breaker is open, and turns go to other targets or are refused. Run svc-gateway doctor.`,
      }))
  }

  /** One failure may be a moment's; the second observation shows that it lasts. */
  #findMailFailure(): Condition[] {
    const note = this.#deps.mailNote()
    const isLasting = note !== null && this.#mailFailedBefore
    this.#mailFailedBefore = note !== null
    return isLasting
      ? [
          {
            kind: 'mail_failing',
            subject: 'mail',
            text: `Codes and notices do not reach members. ${note.replace(/^mail: e/, 'E')}.`,
          },
        ]
      : []
  }

  #findDiskLow(
    metrics: readonly MetricsJson[],
    { freeDiskBytes }: IncidentRules,
    { dataDir }: ObservedConfig['store'],
  ): Condition[] {
    const { host, isDatabaseFull } = this.#deps
    const [free] = listSamples(metrics, 'svc_data_disk_free_bytes')
    // Absent while it cannot be read, which ends no incident.
    if (free !== undefined) this.#freeDiskBytes = free.value
    this.#isDiskLow = this.#freeDiskBytes < freeDiskBytes * (this.#isDiskLow ? hysteresis : 1)
    const mib = Math.floor(this.#freeDiskBytes / 1024 / 1024)
    return [
      ...(this.#isDiskLow
        ? [
            {
              kind: 'disk_low' as const,
              subject: `${host}:${dataDir}`,
              text: `The disk of ${dataDir} on ${host} has ${mib} MiB left. Make room: turns are refused when the database cannot be written.`,
            },
          ]
        : []),
      ...(isDatabaseFull()
        ? [
            {
              kind: 'disk_low' as const,
              subject: 'database',
              text: 'The disk of the database is full, and turns are refused. Make room.',
            },
          ]
        : []),
    ]
  }

  #findBackupFaults(metrics: readonly MetricsJson[], backup: ObservedConfig['backup']): Condition[] {
    const [age] = listSamples(metrics, 'svc_backup_age_seconds')
    if (backup === null || age === undefined) return []
    const failures = sum(listSamples(metrics, 'svc_backup_failures_total'))
    // A new backup makes the age smaller.
    const hasFailed = failures > this.#backup.failures || (this.#backup.hasFailed && age.value >= this.#backup.ageSeconds)
    this.#backup = { failures, ageSeconds: age.value, hasFailed }
    const ageMs = age.value * 1000
    return [
      ...(hasFailed
        ? [
            {
              kind: 'backup_failed' as const,
              subject: 'backup',
              text: 'A backup on schedule failed. The log has the reason, and svc-gateway doctor checks the storage.',
            },
          ]
        : []),
      ...(ageMs > 2 * backup.every
        ? [
            {
              kind: 'backup_old' as const,
              subject: 'backup',
              text: `No backup has been written for more than ${formatDuration(2 * backup.every)}, and one is due every ${formatDuration(backup.every)}. Run svc-gateway doctor.`,
            },
          ]
        : []),
    ]
  }

  async #findEndingCertificates(
    { certificateDays }: IncidentRules,
    { tls, siteUrl }: ObservedConfig['listen'],
  ): Promise<readonly Condition[]> {
    const { clock } = this.#deps
    if (this.#certificates !== null && clock.monotonicMs() - this.#certificates.checkedMs < certificateCheckMs)
      return this.#certificates.conditions
    const certificates = await Promise.all([
      ...(tls === null
        ? []
        : [this.#readValidity(tls.cert, async () => toValidity(new X509Certificate(await readFile(tls.cert))))]),
      ...(siteUrl?.startsWith('https:') === true
        ? [this.#readValidity(new URL(siteUrl).host, () => this.#deps.readCertificate(new URL(siteUrl)))]
        : []),
    ])
    const conditions = certificates.flatMap(({ subject, validity }): Condition[] => {
      if (validity === null) return []
      const remainingMs = validity.endsAt - clock.now()
      // Those of a few days are renewed after two thirds of their time.
      const minMs = Math.min(certificateDays * dayMs, (validity.endsAt - validity.beginsAt) / 4)
      if (remainingMs >= minMs) return []
      const when = remainingMs <= 0 ? 'has ended' : `ends in ${formatDuration(remainingMs)}`
      return [{ kind: 'certificate_ending', subject, text: `The certificate of ${subject} ${when}. Renew it.` }]
    })
    this.#certificates = { checkedMs: clock.monotonicMs(), conditions }
    return conditions
  }

  /** Null if it cannot be read: other checks report that. */
  async #readValidity(
    subject: string,
    read: () => Promise<Validity>,
  ): Promise<{ readonly subject: string; readonly validity: Validity | null }> {
    return { subject, validity: await read().catch(() => null) }
  }
}

function sum(samples: readonly Sample[]): number {
  return samples.reduce((total, { value }) => total + value, 0)
}

const connectTimeoutMs = 10_000

function toValidity({ validFromDate, validToDate }: X509Certificate): Validity {
  return { beginsAt: validFromDate.getTime(), endsAt: validToDate.getTime() }
}

/** The issuer does not matter: only the times of the certificate are read. */
function readCertificate({ hostname, port }: URL): Promise<Validity> {
  return new Promise((resolve, reject) => {
    const servername = hostname.replace(/^\[|\]$/g, '')
    const socket = connect(
      { host: servername, port: port === '' ? 443 : Number(port), servername, rejectUnauthorized: false },
      () => {
        const { valid_from: begin, valid_to: end } = socket.getPeerCertificate()
        resolve({ beginsAt: Date.parse(begin), endsAt: Date.parse(end) })
        socket.destroy()
      },
    )
    socket.setTimeout(connectTimeoutMs, () => socket.destroy(new Error('no answer in time')))
    socket.on('error', reject)
  })
}
