/** The steps of a turn as rows: when, how long, what, and a bar on one scale of time. */
import type { TurnPart, TurnStory } from '../../../../domain/turn-history/turn-history.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import { formatNumber } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate } from '../../../page.ts'
import type { OperatorContext } from '../../../page.ts'
import { formatMs } from './turn-table.ts'

interface Step {
  readonly name: Html
  readonly what: Html
  /** Milliseconds from the start of the turn; null where it is unknown. */
  readonly from: number | null
  /** Null: it is a moment. */
  readonly to: number | null
  readonly look: 'entry' | 'held' | 'failed' | 'answered' | 'token'
}

/** Of the bar's picture, which is stretched to its cell. */
const width = 1000
const minWidth = 8

export function renderWaterfall(context: OperatorContext, story: TurnStory): Html {
  const { turn: texts } = context.t.console
  const steps = listSteps(context, story)
  const endMs = Math.max(1, ...steps.map(({ from, to }) => to ?? from ?? 0))
  return renderDataTable({
    label: texts.story,
    look: 'waterfall',
    columns: [
      { title: texts.step },
      { title: texts.what },
      { title: texts.after, isNumber: true },
      { title: context.t.console.turns.took, isNumber: true },
      { title: texts.timeline },
    ],
    rows: steps.map((step) => ({
      cells: [
        step.name,
        step.what,
        html`${step.from !== null && formatMs(context, step.from)}`,
        html`${step.from !== null && step.to !== null && formatMs(context, step.to - step.from)}`,
        renderBar(step, endMs),
      ],
    })),
  })
}

function renderBar({ from, to, look }: Step, endMs: number): Html {
  if (from === null) return html``
  const wide = Math.max(minWidth, Math.round((((to ?? from) - from) / endMs) * width))
  const x = Math.min(width - wide, Math.round((from / endMs) * width))
  return html`<svg class="turn-bar" viewBox="0 0 ${width} 10" preserveAspectRatio="none" aria-hidden="true">
    <rect class="${look}" x="${Math.max(0, x)}" width="${wide}" height="10" />
  </svg>`
}

function listSteps(context: OperatorContext, story: TurnStory): readonly Step[] {
  const { turn: texts, member } = context.t.console
  const { turn, held, settled, isCharged } = story
  const number = (value: number): string => formatNumber(value, context.language)
  const moment = (name: string, what: Html, from: number, look: Step['look']): Step => ({
    name: html`${name}`,
    what,
    from,
    to: null,
    look,
  })
  const end = isCharged
    ? html`${interpolate(texts.settledWhat, { credits: number(turn.credits) })} ${renderParts(context, settled)}`
    : html`${texts.refundedWhat}`
  return [
    moment(texts.entry, html`<code class="breakable">${turn.apiFormat}</code>`, 0, 'entry'),
    moment(
      texts.hold,
      html`${interpolate(texts.heldWhat, { credits: number(turn.reserved) })} ${renderParts(context, held)}`,
      0,
      'held',
    ),
    ...listAttempts(context, story),
    ...(turn.firstTokenMs === null ? [] : [moment(texts.firstToken, html``, turn.firstTokenMs, 'token')]),
    ...(turn.endedAt === null
      ? [{ name: html`${member.turnStates.held}`, what: html``, from: null, to: null, look: 'held' } as const]
      : [
          moment(
            isCharged ? texts.settled : texts.refunded,
            end,
            turn.endedAt - turn.startedAt,
            isCharged ? 'answered' : 'failed',
          ),
        ]),
  ]
}

function listAttempts(context: OperatorContext, { turn }: TurnStory): readonly Step[] {
  const { turn: texts, turns } = context.t.console
  const { attempts } = turn
  if (attempts === null || attempts.length === 0) {
    const what = attempts === null ? texts.attemptsUnknown : turns.noUpstream
    return [{ name: html`${texts.attempt}`, what: html`${what}`, from: null, to: null, look: 'entry' }]
  }
  return attempts.map(({ target, startedMs, endedMs, status, failure }) => ({
    name: html`<code class="breakable">${target}</code>`,
    what: html`<span class="badge ${failure === null ? 'good' : 'bad'}"
        >${failure === null ? texts.answered : interpolate(texts.failedWith, { failure })}</span
      >
      ${status === null ? texts.noStatus : html`HTTP ${status}`}`,
    from: startedMs,
    to: Math.max(startedMs, endedMs),
    look: failure === null ? 'answered' : 'failed',
  }))
}

/** `plan 12, pack_… 3`. */
function renderParts({ t, language }: OperatorContext, parts: readonly TurnPart[]): Html {
  const { turn: texts } = t.console
  if (parts.length === 0) return html``
  return html`<span class="sub breakable"
    >(${parts.map(({ from, credits }) => `${texts.sources[from] ?? from} ${formatNumber(credits, language)}`).join(', ')})</span
  >`
}
