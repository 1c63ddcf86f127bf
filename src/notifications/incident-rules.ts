/** Decides from the reports of all nodes which incidents are open now. Pure functions. */
import type { GatewayConfig } from '../config/config.ts'
import type { Condition, Incident, IncidentKind, NodeReport, ReceiverState } from '../domain/notification.ts'
import { formatDuration } from '../system/duration.ts'
import { parseJson } from '../system/parse-json.ts'
import type { NodeFacts } from './node-observer.ts'
import type { TurnCount, TurnShares } from './turn-windows.ts'

/** Several times the interval of the reports: a node that reports nothing for so long counts as lost. */
export const nodeLostAfterMs = 90_000
/** What a node knows of its upstreams ends with it: an incident that was open at a restart does not end before the node has seen turns. */
const settleMs = 300_000
/** How much faster than allowed the budget of the objective is used up (Google's SRE workbook, alerting on SLOs). */
const maxBurnRate = 14.4
/** An incident about a share ends at this part of its limit, so that it does not come and go. */
const endsAtPart = 0.5

interface ReviewInput {
  readonly rules: GatewayConfig['notifications']['rules']
  readonly reports: readonly NodeReport[]
  readonly receivers: readonly ReceiverState[]
  readonly open: readonly Incident[]
  readonly now: number
}

export interface Review {
  readonly began: readonly Condition[]
  readonly ended: readonly Incident[]
  /** Reports of nodes that other nodes have replaced. */
  readonly replacedNodes: readonly string[]
}

interface ReportedNode extends NodeReport {
  readonly parsed: NodeFacts
}

export function reviewIncidents(input: ReviewInput): Review {
  const { rules, receivers, open, now } = input
  const nodes = input.reports.map((report): ReportedNode => ({ ...report, parsed: parseJson(report.facts) as NodeFacts }))
  const livingNodes = nodes.filter(({ seenAt }) => now - seenAt < nodeLostAfterMs)
  const { lost, replacedNodes } = findLostNodes(nodes, livingNodes, open, now)
  const active = deduplicate([
    ...livingNodes.flatMap(({ parsed }) => parsed.conditions),
    ...findRefusals(livingNodes, rules, open),
    ...findBurningObjective(livingNodes, rules, open),
    ...findMismatches(livingNodes, open),
    ...lost,
    ...receivers.flatMap(({ name, offSince }): Condition[] =>
      offSince === null
        ? []
        : [
            {
              kind: 'receiver_off',
              subject: name,
              text: `The receiver ${name} gets no notifications: it took none for a day, or wants none. Repair it, then run: svc-gateway notify enable ${name}`,
            },
          ],
    ),
  ])
  const isSettled = livingNodes.some(({ parsed }) => now - parsed.startedAt >= settleMs)
  const isSame = (one: Condition, other: Condition): boolean => one.kind === other.kind && one.subject === other.subject
  return {
    began: active.filter((condition) => !open.some((incident) => isSame(incident, condition))),
    ended: open.filter(
      (incident) =>
        !active.some((condition) => isSame(incident, condition)) && (isSettled || !observedByNodes.has(incident.kind)),
    ),
    replacedNodes,
  }
}

/** Incidents that a node which has just started cannot judge. */
const observedByNodes: ReadonlySet<IncidentKind> = new Set([
  'upstream_down',
  'refusals_high',
  'objective_burning',
  'mail_failing',
  'backup_failed',
])

/** The newest check decides, whichever node ran it; without one the incident stays as it is. */
function findMismatches(living: readonly ReportedNode[], open: readonly Incident[]): readonly Condition[] {
  const checks = living.flatMap(({ parsed }) => parsed.ledgerCheck ?? [])
  const [newestCheck] = checks.toSorted((one, other) => other.at - one.at)
  if (newestCheck === undefined) return open.filter(({ kind }) => kind === 'ledger_mismatch')
  if (newestCheck.mismatches === 0) return []
  const text = `The check of the ledger found ${newestCheck.mismatches} ${newestCheck.mismatches === 1 ? 'mismatch' : 'mismatches'}. Run svc-gateway ledger verify.`
  return [{ kind: 'ledger_mismatch', subject: 'ledger', text }]
}

/** A target that several nodes find down is one incident. */
function deduplicate(conditions: readonly Condition[]): Condition[] {
  return [...new Map(conditions.map((condition) => [`${condition.kind}:${condition.subject}`, condition])).values()]
}

/**
 * A node is lost that reports nothing and was not stopped. It is back when a node has started since on the same host, or anywhere in its
 * place. One that returned before it counted as lost is not reported.
 */
function findLostNodes(
  nodes: readonly ReportedNode[],
  living: readonly ReportedNode[],
  open: readonly Incident[],
  now: number,
): { readonly lost: readonly Condition[]; readonly replacedNodes: readonly string[] } {
  const available = [...living]
  const takeReplacement = (node: ReportedNode): boolean => {
    const { host, seenAt } = node
    const isNewer = (other: ReportedNode): boolean => other !== node && other.parsed.startedAt > seenAt
    const sameHost = available.findIndex((other) => isNewer(other) && other.host === host)
    const index = sameHost === -1 ? available.findIndex(isNewer) : sameHost
    if (index === -1) return false
    available.splice(index, 1)
    return true
  }
  const lostNodes: Condition[] = []
  const replacedNodes: string[] = []
  for (const node of nodes.filter((each) => !living.includes(each)).concat(findSilent(living, now))) {
    const isLost = now - node.seenAt >= nodeLostAfterMs
    const isOpen = open.some(({ kind, subject }) => kind === 'node_lost' && subject === node.host)
    const isReplaced = takeReplacement(node)
    if (isReplaced && (isOpen || !isLost)) replacedNodes.push(node.name)
    else if (isLost)
      lostNodes.push({
        kind: 'node_lost',
        subject: node.host,
        text: `The node on ${node.host} has reported nothing since ${new Date(node.seenAt).toISOString()} and was not stopped.`,
      })
  }
  return { lost: lostNodes, replacedNodes }
}

/** Nodes that may have ended a moment ago, and whose host has a newer one. */
function findSilent(living: readonly ReportedNode[], now: number): readonly ReportedNode[] {
  return living.filter(
    (node) =>
      now - node.seenAt >= silentMs &&
      living.some((other) => other !== node && other.host === node.host && other.parsed.startedAt > node.seenAt),
  )
}

const silentMs = 30_000

function findRefusals(living: readonly ReportedNode[], rules: ReviewInput['rules'], open: readonly Incident[]): Condition[] {
  const { turns, refused } = sumTurns(living, 'tenMinutes')
  const isOpen = open.some(({ kind }) => kind === 'refusals_high')
  const limit = rules.refusedShare * (isOpen ? endsAtPart : 1)
  if (turns < (isOpen ? 1 : rules.minTurns) || refused / turns < limit) return []
  const percent = ((100 * refused) / turns).toFixed(0)
  return [
    {
      kind: 'refusals_high',
      subject: 'turns',
      text: `${refused} of ${turns} turns of the last ten minutes (${percent} %) were refused because of the service or its upstreams. The log names each reason.`,
    },
  ]
}

function findBurningObjective(
  living: readonly ReportedNode[],
  rules: ReviewInput['rules'],
  open: readonly Incident[],
): Condition[] {
  const { availability, minTurns } = rules
  if (availability === null) return []
  const isOpen = open.some(({ kind }) => kind === 'objective_burning')
  const hour = sumTurns(living, 'hour')
  const measureBurn = ({ turns, refused }: TurnCount): number => (turns === 0 ? 0 : refused / turns / (1 - availability))
  // No rate is higher than this where the objective is low.
  const limit = Math.min(maxBurnRate, 1 / (1 - availability)) * (isOpen ? endsAtPart : 1)
  const rate = Math.min(measureBurn(hour), measureBurn(sumTurns(living, 'fiveMinutes')))
  if (hour.turns < minTurns || rate < limit) return []
  const monthMs = 30 * 86_400_000
  return [
    {
      kind: 'objective_burning',
      subject: `availability ${availability}`,
      text: `${hour.refused} of ${hour.turns} turns of the last hour were refused. At this rate the month's budget of the objective ${availability} is used up in ${formatDuration(monthMs / measureBurn(hour))}.`,
    },
  ]
}

function sumTurns(living: readonly ReportedNode[], window: keyof TurnShares): TurnCount {
  return living.reduce(
    (sum, { parsed }) => ({
      turns: sum.turns + parsed.turns[window].turns,
      refused: sum.refused + parsed.turns[window].refused,
    }),
    { turns: 0, refused: 0 },
  )
}
