/** Notices of the operator: each is shown once, on a terminal alone, beside a command that calls the service anyway. */
import { join } from 'node:path'
import type { ResponseOf } from '../../../api/endpoint.ts'
import type { listNotices } from '../../../api/notices.ts'
import type { Context } from '../../context.ts'
import { isRecord } from '../../json.ts'
import { formatTimestamp } from '../../terminal/amounts.ts'
import { sanitizeLine } from '../../terminal/sanitize-text.ts'
import { getConfigFolder, readPrivateFile, writePrivateFile } from '../../user-config/credentials.ts'
import { tryParseJson } from '../../../system/parse-json.ts'
import type { Site } from './site.ts'

export interface ShownNotice {
  readonly version: string
  readonly heading: string
  readonly text: string
}

/** Of a service whose version may differ. */
type Notice = Partial<ResponseOf<typeof listNotices>['data'][number]>

/** The service has at most ten at a time. */
const maxNotices = 10
const maxRemembered = 100
const maxSites = 20

/** Where a person reads: not in pipes, with `--json` or `--quiet`. */
export function showsNotices({ stdout, stderr, json, quiet }: Context): boolean {
  return stdout.isTerminal && stderr.isTerminal && !json && !quiet
}

/** Those of the service's answer that this user has not seen. */
export function findNewNotices(context: Context, site: Site, notices: unknown): readonly ShownNotice[] {
  const seenVersions = new Set(readSeen(context)[site.siteOrigin] ?? [])
  return (Array.isArray(notices) ? (notices as readonly Notice[]) : [])
    .slice(0, maxNotices)
    .map((notice) => toShown(context, notice))
    .filter((notice) => notice !== undefined)
    .filter(({ version }) => !seenVersions.has(version))
}

/** A file that cannot be written shows them again, which is better than a command that fails. */
export function rememberNotices(context: Context, site: Site, notices: readonly ShownNotice[]): void {
  if (notices.length === 0) return
  try {
    const { [site.siteOrigin]: earlierVersions = [], ...others } = readSeen(context)
    const versions = [...earlierVersions, ...notices.map(({ version }) => version)].slice(-maxRemembered)
    const sites = Object.fromEntries([...Object.entries(others).slice(1 - maxSites), [site.siteOrigin, versions]])
    writePrivateFile(getSeenFile(context), `${JSON.stringify({ version: 1, sites }, null, 2)}\n`)
  } catch {
    // Shown again with the next command.
  }
}

export function printNotices(context: Context, site: Site, notices: readonly ShownNotice[]): void {
  for (const { heading, text } of notices) context.printNote(`${heading}: ${text}`)
  rememberNotices(context, site, notices)
}

function toShown(context: Context, { id, revision, kind, text, until }: Notice): ShownNotice | undefined {
  const ownText = context.language === 'zh' ? (text?.zh ?? text?.en) : (text?.en ?? text?.zh)
  if (typeof id !== 'string' || typeof ownText !== 'string') return undefined
  const names = {
    information: { en: 'Notice', zh: '通知' },
    disturbance: { en: 'Disturbance', zh: '故障' },
    maintenance: { en: 'Maintenance', zh: '维护' },
  }
  const name = context.localize(names[kind ?? 'information'] ?? names.information)
  const end = formatTimestamp(context, until)
  const heading = context.localize({ en: `${name} until ${end}`, zh: `${name}（至 ${end}）` })
  return { version: `${id}-${Number(revision ?? 1)}`, heading, text: sanitizeLine(ownText) }
}

function getSeenFile({ environment }: Context): string {
  return join(getConfigFolder(environment), 'notices.json')
}

function readSeen(context: Context): Readonly<Record<string, readonly string[]>> {
  const seenDocument = tryParseJson(readPrivateFile(getSeenFile(context)) ?? '')
  if (!isRecord(seenDocument) || !isRecord(seenDocument['sites'])) return {}
  const isList = (value: unknown): value is readonly string[] =>
    Array.isArray(value) && value.every((version) => typeof version === 'string')
  return Object.fromEntries(
    Object.entries(seenDocument['sites']).filter((entry): entry is [string, readonly string[]] => isList(entry[1])),
  )
}
