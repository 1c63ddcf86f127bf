/** `/operator`: whether anything needs the operator, in one sentence, and the figures behind it. A script keeps them live. */
import type { OldestHold } from '../../../../domain/turn-history/turn-history.ts'
import type { NodeFigures, Percentiles, TargetFigures } from '../../../../services/health/node-figures.ts'
import { sumOf } from '../../../../services/health/node-figures.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import { renderEmptyState, renderRows } from '../../../components/list.ts'
import { formatNumber, formatPercent, formatPastTime } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate, requireOperatorContext } from '../../../page.ts'
import type { OperatorContext, PageContext, View } from '../../../page.ts'
import { findNeeds } from './needs.ts'
import { listLinks } from './now-links.ts'
import { describeToday, readToday } from './today.ts'
import type { Today } from './today.ts'
import { createOperatorView } from '../operator-frame.ts'
import { hasScope } from '../sections.ts'

const shownEndings = 12

/** What a script writes into the page; `shape` differs where other rows are to be shown, and the page is loaded again. */
export interface LiveFigures {
  readonly shape: string
  /** By the `data-live` of an element. */
  readonly texts: Readonly<Record<string, string>>
  /** The list behind a figure, by the `data-live-link` of its link. */
  readonly links: Readonly<Record<string, string>>
}

/** The figures of the process, and what only the database has: each as far as the role may see it. */
interface Figures extends NodeFigures {
  readonly oldestHold: OldestHold | undefined
  readonly today: Today | null
}

export async function createNowView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t } = context
  const { now: texts } = t.console
  const [figures, needs] = await readFigures(context)
  const live = describeFigures(context, figures)
  const links = listLinks(context, figures)
  const value = (name: string): Html => {
    const text = html`<span data-live="${name}">${live[name] ?? ''}</span>`
    return links[name] === undefined ? text : html`<a href="${links[name]}" data-live-link="${name}">${text}</a>`
  }
  const stat = (title: string, name: string): Html =>
    html`<div class="card pad stat">
      <p class="stat-name">${title}</p>
      <p class="stat-figure"><strong>${value(name)}</strong></p>
      <p class="sub">${value(`${name}-more`)}</p>
    </div>`
  return createOperatorView(context, {
    title: t.console.sections.now,
    lead: html`<span class="now-sentence">${needs.length === 0 ? texts.allWell : describeNeeds(context, needs.length)}</span>`,
    script: { name: 'console-now', texts: {}, props: {} },
    content: html`${
        needs.length > 0 &&
        html`<section class="card" aria-label="${texts.needsTitle}">
          ${renderRows(
            needs,
            ({ text, href }) =>
              html`<li class="log-row">
                <p class="breakable"><a href="${href}">${text}</a></p>
              </li>`,
          )}
        </section>`
      }
      <div data-live-figures="${toShape(context, figures, needs)}">
        ${
          hasScope(context, 'turns:read') &&
          html`<section class="now-stats" id="turns" aria-label="${texts.turnsTitle}">
              ${stat(texts.perMinute, 'per-minute')} ${stat(texts.running, 'running')} ${stat(texts.oldestHold, 'oldest-hold')}
              ${stat(texts.firstToken, 'first-token')} ${stat(texts.overhead, 'overhead')}
            </section>
            ${renderEndings(context, figures, value)}`
        }
        ${hasScope(context, 'routing:read') && renderTargets(context, figures.targets, value)}
        ${
          hasScope(context, 'money:read') &&
          html`<section class="now-stats" id="money" aria-label="${texts.moneyTitle}">
            ${stat(texts.sold, 'sold')} ${stat(texts.credits, 'credits')} ${stat(texts.cost, 'cost')}
            ${context.services.orders !== null && stat(texts.ungranted, 'ungranted')}
          </section>`
        }
        ${
          hasScope(context, 'audit:read') &&
          html`<section class="now-stats" id="system" aria-label="${texts.systemTitle}">
            ${stat(texts.disk, 'disk')} ${stat(texts.backup, 'backup')} ${stat(texts.mail, 'mail')}
            ${stat(texts.ledger, 'ledger')}
          </section>`
        }
      </div>
      <p class="sub">${texts.thisNode} ${value('at')}</p>`,
  })
}

export async function readLiveFigures(context: OperatorContext): Promise<LiveFigures> {
  const [figures, needs] = await readFigures(context)
  return {
    shape: toShape(context, figures, needs),
    texts: describeFigures(context, figures),
    links: listLinks(context, figures),
  }
}

async function readFigures(context: OperatorContext): Promise<readonly [Figures, Awaited<ReturnType<typeof findNeeds>>]> {
  const { operations, services } = context
  const { turnHistory } = services.membership
  const [figures, oldestHold, today] = await Promise.all([
    operations.readFigures(),
    hasScope(context, 'turns:read') ? turnHistory.findOldestHold() : undefined,
    hasScope(context, 'money:read') ? readToday(context) : null,
  ])
  return [{ ...figures, oldestHold, today }, await findNeeds(context, figures)]
}

function toShape(
  context: OperatorContext,
  { quarter, day, targets, oldestHold }: Figures,
  needs: readonly { readonly text: string }[],
): string {
  return JSON.stringify([
    // A number in a sentence changes no row.
    needs.map(({ text }) => text.replaceAll(/\d+/g, '#')),
    hasScope(context, 'turns:read') ? [...listEndings(day.endings, quarter.endings), isLonger(context, { quarter, day })] : [],
    oldestHold === undefined,
    hasScope(context, 'routing:read') ? targets.map(({ target, breaker }) => [target, breaker]) : [],
  ])
}

function describeNeeds({ t, language }: OperatorContext, count: number): string {
  const { now: texts } = t.console
  return count === 1 ? texts.oneNeed : interpolate(texts.someNeeds, { count: formatNumber(count, language) })
}

/** The most frequent ones of the longer span; the shorter one has no others. */
function listEndings(...[day, quarter]: readonly Readonly<Record<string, number>>[]): readonly string[] {
  const all = { ...quarter, ...day }
  return Object.keys(all)
    .toSorted((one, other) => (all[other] ?? 0) - (all[one] ?? 0))
    .slice(0, shownEndings)
}

/** Every figure that the operator's role may see, in words. */
function describeFigures(context: OperatorContext, figures: Figures): Readonly<Record<string, string>> {
  const { t, language } = context
  const { now: texts } = t.console
  const number = (value: number): string => formatNumber(value, language)
  const { quarter, day } = figures
  const isLong = isLonger(context, figures)
  const may = (
    scope: Parameters<typeof hasScope>[1],
    values: Readonly<Record<string, string>>,
  ): Readonly<Record<string, string>> => (hasScope(context, scope) ? values : {})
  const share = (endings: Readonly<Record<string, number>>, ending: string): string => {
    const count = endings[ending] ?? 0
    return count === 0 ? '–' : `${formatPercent(count / sumOf(endings), language)} (${number(count)})`
  }
  const seconds = (value: Percentiles | null): string => (value === null ? '–' : formatSeconds(context, value.p50))
  const tail = (value: Percentiles | null): string =>
    value === null ? texts.noneYet : interpolate(texts.p95, { time: formatSeconds(context, value.p95) })
  return {
    at: new Intl.DateTimeFormat(context.locale, { timeStyle: 'long', timeZone: context.services.config.timeZone }).format(
      figures.at,
    ),
    ...may('turns:read', {
      'per-minute': number(Math.round(figures.turnsPerMinute * 10) / 10),
      'per-minute-more': texts.lastMinute,
      running: number(figures.running),
      'running-more': interpolate(texts.holds, { count: number(figures.holdsOpen) }),
      'oldest-hold':
        figures.oldestHold === undefined ? '–' : formatSpan(context, Math.max(0, figures.at - figures.oldestHold.startedAt)),
      'oldest-hold-more': figures.oldestHold === undefined ? texts.noHold : texts.ofAllNodes,
      'first-token': seconds(figures.firstToken),
      'first-token-more': tail(figures.firstToken),
      overhead: seconds(figures.overhead),
      'overhead-more': tail(figures.overhead),
      ...(isLong ? { 'quarter-span': formatSpan(context, quarter.spanMs) } : {}),
      'day-span': formatSpan(context, day.spanMs),
      ...Object.fromEntries(
        listEndings(day.endings, quarter.endings).flatMap((ending) => [
          ...(isLong ? [[`quarter-${ending}`, share(quarter.endings, ending)] as const] : []),
          [`day-${ending}`, share(day.endings, ending)],
        ]),
      ),
    }),
    ...may('routing:read', describeTargets(context, figures.targets)),
    ...may('money:read', {
      ...(figures.today === null ? {} : describeToday(context, figures.today)),
      ...(context.services.orders === null
        ? {}
        : {
            ungranted: number(figures.ungrantedOrders),
            'ungranted-more': figures.ungrantedOrders === 0 ? texts.fine : texts.ungrantedMore,
          }),
    }),
    ...may('audit:read', describeSystem(context, figures)),
  }
}

function describeTargets(context: OperatorContext, targets: readonly TargetFigures[]): Readonly<Record<string, string>> {
  const { t, language } = context
  return Object.fromEntries(
    targets.flatMap(({ target, attempts, failed, lastFailure }) => [
      [`calls-${target}`, formatNumber(attempts, language)],
      [`success-${target}`, attempts === 0 ? '–' : formatPercent((attempts - failed) / attempts, language)],
      [
        `failure-${target}`,
        lastFailure === null ? t.console.now.noFailure : `${lastFailure.outcome}, ${formatPastTime(context, lastFailure.at)}`,
      ],
    ]),
  )
}

function describeSystem(context: OperatorContext, figures: NodeFigures): Readonly<Record<string, string>> {
  const { t, language } = context
  const { now: texts } = t.console
  const { freeDiskBytes, backupAgeSeconds, backupIntervalSeconds, emailsWaiting, oldestEmailSeconds, mismatches } = figures
  const age = (value: number): string => formatPastTime(context, figures.at - value * 1000)
  return {
    disk:
      freeDiskBytes === null
        ? '–'
        : interpolate(texts.gib, { count: formatNumber(Math.floor(freeDiskBytes / 2 ** 30), language) }),
    'disk-more': texts.free,
    backup: backupAgeSeconds === null ? texts.off : age(backupAgeSeconds),
    'backup-more':
      backupIntervalSeconds === null
        ? texts.noBackups
        : interpolate(texts.every, { span: formatSpan(context, backupIntervalSeconds * 1000) }),
    mail: formatNumber(emailsWaiting, language),
    'mail-more': emailsWaiting === 0 ? texts.fine : interpolate(texts.oldest, { when: age(oldestEmailSeconds) }),
    ledger: mismatches === 0 ? texts.addsUp : interpolate(texts.mismatches, { count: formatNumber(mismatches, language) }),
    'ledger-more': interpolate(texts.pending, { count: formatNumber(figures.pendingSettlements, language) }),
  }
}

function renderEndings(context: OperatorContext, { quarter, day }: NodeFigures, value: (name: string) => Html): Html {
  const { now: texts, failures } = context.t.console
  const isLong = isLonger(context, { quarter, day })
  const endings = listEndings(day.endings, quarter.endings)
  if (endings.length === 0) return html`<section class="card">${renderEmptyState('list', texts.noTurns)}</section>`
  return html`<section class="card">
    <div class="card-head pad-head"><h2>${texts.endingsTitle}</h2></div>
    ${renderDataTable({
      label: texts.endingsTitle,
      columns: [
        { title: texts.ending },
        ...(isLong ? [{ title: texts.recent, head: value('quarter-span'), isNumber: true }] : []),
        { title: isLong ? texts.longer : failures.turns, head: value('day-span'), isNumber: true },
      ],
      rows: endings.map((ending) => ({
        cells: [
          html`${texts.endings[ending] ?? html`<a href="/docs/errors#${ending}"><code>${ending}</code></a>`}`,
          ...(isLong ? [value(`quarter-${ending}`)] : []),
          value(`day-${ending}`),
        ],
      })),
    })}
  </section>`
}

function renderTargets(context: OperatorContext, targets: readonly TargetFigures[], value: (name: string) => Html): Html {
  const { now: texts } = context.t.console
  const looks = { closed: 'good', half_open: 'warn', open: 'bad' } as const
  if (targets.length === 0) return html`<section class="card" id="upstreams">${renderEmptyState('list', texts.noCalls)}</section>`
  return html`<section class="card" id="upstreams">
    <div class="card-head pad-head"><h2>${texts.targetsTitle}</h2></div>
    ${renderDataTable({
      label: texts.targetsTitle,
      columns: [
        { title: texts.target },
        { title: texts.breaker },
        { title: texts.calls, isNumber: true },
        { title: texts.success, isNumber: true },
        { title: texts.lastFailure },
      ],
      rows: targets.map(({ target, breaker }) => ({
        cells: [
          html`<code class="breakable">${target}</code>`,
          html`<span class="badge ${looks[breaker]}">${texts.breakers[breaker]}</span>`,
          value(`calls-${target}`),
          value(`success-${target}`),
          value(`failure-${target}`),
        ],
      })),
    })}
  </section>`
}

/** `120 ms`, `1.3 s`. */
function formatSeconds({ language }: OperatorContext, seconds: number): string {
  return seconds < 1
    ? `≤ ${formatNumber(Math.round(seconds * 1000 * 10) / 10, language)} ms`
    : `≤ ${formatNumber(Math.round(seconds * 10) / 10, language)} s`
}

/** Until the server has run for longer than the shorter span, both spans begin with it, and one column has all. */
function isLonger(context: OperatorContext, { quarter, day }: Pick<NodeFigures, 'quarter' | 'day'>): boolean {
  return formatSpan(context, day.spanMs) !== formatSpan(context, quarter.spanMs)
}

/** `40 seconds`, `15 minutes`, `24 hours`. */
function formatSpan({ locale }: OperatorContext, spanMs: number): string {
  const seconds = Math.max(1, Math.round(spanMs / 1000))
  const minutes = Math.round(seconds / 60)
  const [value, unit] =
    seconds < 90 ? [seconds, 'second'] : minutes < 90 ? [minutes, 'minute'] : [Math.round(minutes / 60), 'hour']
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(value)
}
