/** Gauges of what the server stands on: disk, certificate, readiness, nodes. */
import { X509Certificate } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import type prom from 'prom-client'
import type { LedgerStats } from '../domain/billing/ledger.ts'

type CreateGauge = (options: Omit<prom.GaugeConfiguration<never>, 'registers' | 'collect'>) => prom.Gauge<never>

export function createMachineMetrics(gauge: CreateGauge) {
  return {
    ready: gauge({
      name: 'svc_ready',
      help: 'Whether new turns are accepted: 1 is good; 0: see /readyz.',
      aggregator: 'min',
    }),
    diskFreeBytes: gauge({
      name: 'svc_data_disk_free_bytes',
      help: 'Free bytes of the disk with the data folder; absent if they cannot be read.',
      aggregator: 'first',
    }),
    diskSizeBytes: gauge({
      name: 'svc_data_disk_size_bytes',
      help: 'Size of the disk with the data folder; absent if it cannot be read.',
      aggregator: 'first',
    }),
    certificateExpiry: gauge({
      name: 'svc_certificate_expiry_timestamp_seconds',
      help: 'When the certificate of listen.tls ends, in Unix seconds; absent without one.',
      aggregator: 'min',
    }),
    clusterNodes: gauge({
      name: 'svc_cluster_nodes',
      help: 'Living nodes that use the database of STORE_URL, this one included; absent without STORE_URL.',
      aggregator: 'first',
    }),
  }
}

/** Where the values come from. Those of a thread that has none are left out. */
export interface MachineSources {
  /** Why no new turns are accepted; empty if they are. */
  readonly notReadyReasons: (ledger: LedgerStats) => readonly string[]
  readonly dataDir: string
  /** Null where the database belongs to one machine. */
  readonly countNodes: (() => number) | null
  /** Another one is for tests. */
  readonly readDisk?: (folder: string) => Promise<DiskSpace>
}

interface DiskSpace {
  readonly bsize: number
  readonly bavail: number
  readonly blocks: number
}

export class MachineCollector {
  readonly #metrics: ReturnType<typeof createMachineMetrics>

  constructor(metrics: ReturnType<typeof createMachineMetrics>) {
    this.#metrics = metrics
    for (const metric of Object.values(metrics)) metric.remove()
  }

  /** @param certificate the chain that is served, PEM */
  recordCertificate(certificate: string | Uint8Array): void {
    this.#metrics.certificateExpiry.set(new X509Certificate(certificate).validToDate.getTime() / 1000)
  }

  collect({ notReadyReasons, countNodes }: MachineSources, ledger: LedgerStats): void {
    this.#metrics.ready.set(notReadyReasons(ledger).length === 0 ? 1 : 0)
    if (countNodes !== null) this.#metrics.clusterNodes.set(countNodes())
  }

  /** Before a scrape is answered: a disk that hangs delays the scrape and nothing else. */
  async collectDisk({ dataDir, readDisk = statfs }: MachineSources): Promise<void> {
    const { diskFreeBytes, diskSizeBytes } = this.#metrics
    try {
      const { bsize, bavail, blocks } = await readDisk(dataDir)
      diskFreeBytes.set(bavail * bsize)
      diskSizeBytes.set(blocks * bsize)
    } catch {
      diskFreeBytes.remove()
      diskSizeBytes.remove()
    }
  }
}
