/** `/operator/turns/{id}`: the whole story of one turn, as a waterfall whose bars stand beside their figures. Never its prompt. */
import type { Turn } from '../../../../domain/billing/ledger.ts'
import type { TurnStory } from '../../../../domain/turn-history/turn-history.ts'
import { errorCatalog, GatewayError } from '../../../../errors.ts'
import { renderFacts } from '../../../components/list.ts'
import { renderTime } from '../../../components/time.ts'
import { formatNumber } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate, requireOperatorContext } from '../../../page.ts'
import type { OperatorContext, PageContext, View } from '../../../page.ts'
import { createOperatorView } from '../operator-frame.ts'
import { consoleSections } from '../sections.ts'
import { renderMember, renderTurnEnding, renderTurnTable } from './turn-table.ts'
import { renderWaterfall } from './waterfall.ts'

const { path } = consoleSections.turns

export async function createTurnView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t, services } = context
  const { turn: texts } = t.console
  const id = context.path.slice(path.length + 1)
  const story = /^\d{1,15}$/.test(id) ? await services.membership.turnHistory.findTurn(Number(id)) : undefined
  if (story === undefined) throw new GatewayError('not_found')
  const { turn, ending, ofSameRequest } = story
  return createOperatorView(context, {
    title: interpolate(texts.title, { id: turn.id }),
    lead: texts.lead,
    end: renderTurnEnding(context, { state: turn.state, ending }),
    content: html`${renderOverview(context, turn)}
      <section class="card">
        <div class="card-head pad-head"><h2>${texts.story}</h2></div>
        ${renderWaterfall(context, story)}
      </section>
      ${renderFailure(context, story)} ${renderAborted(context, story)}
      ${
        ofSameRequest.length > 0 &&
        html`<section class="card">
          <div class="card-head pad-head"><h2>${texts.sameRequest}</h2></div>
          ${renderTurnTable(context, texts.sameRequest, ofSameRequest)}
        </section>`
      }`,
  })
}

function renderOverview(context: OperatorContext, turn: Turn): Html {
  const { t, language } = context
  const { turn: texts, turns, member } = t.console
  const number = (value: number): string => formatNumber(value, language)
  const code = (value: string | null): Html | null => (value === null ? null : html`<code class="breakable">${value}</code>`)
  return html`<section class="card pad" aria-label="${member.overview}">
    ${renderFacts([
      [texts.startedAt, renderTime(context, turn.startedAt)],
      [turns.fields.request, code(turn.requestId)],
      [turns.fields.member, renderMember(context, turn.account)],
      [turns.fields.key, code(turn.credential)],
      [member.plan, turn.plan],
      [member.product, html`<span class="breakable">${turn.model}</span>`],
      [texts.requestedAs, code(turn.requestedModel)],
      [texts.format, code(turn.apiFormat)],
      [turns.fields.target, code(turn.target)],
      [texts.upstreamModel, code(turn.upstreamModel)],
      [texts.upstreamResponse, code(turn.upstreamResponseId)],
      [
        texts.tokens,
        interpolate(turn.estimated ? texts.tokensEstimated : texts.tokensCounted, {
          input: number(turn.inputTokens),
          cached: number(turn.cachedInputTokens),
          output: number(turn.outputTokens),
        }),
      ],
      [
        member.charged,
        interpolate(texts.creditsOf, { credits: number(turn.credits), pool: t.account[turn.pool], held: number(turn.reserved) }),
      ],
    ])}
  </section>`
}

/** As the caller read it. Details of the request that a message had are not kept. */
function renderFailure({ t }: OperatorContext, { turn, ending, isCharged }: TurnStory): Html {
  const { turn: texts } = t.console
  if (isCharged || turn.state === 'held') return html``
  const entry = Object.entries(errorCatalog).find(([code]) => code === ending)?.[1]
  return html`<section class="card pad" aria-labelledby="title-failure">
    <h2 id="title-failure">${texts.failure}</h2>
    ${
      entry === undefined
        ? html`<p>${ending === 'expired' ? texts.expired : texts.unknownCode}</p>`
        : html`<div class="failure-words">
            <p lang="en">${withoutDetails(entry.en)}</p>
            <p lang="zh-CN">${withoutDetails(entry.zh)}</p>
            <p class="sub">
              ${interpolate(texts.failureFacts, { status: entry.status, stage: entry.stage })}
              <a href="/docs/errors#${ending}">${t.common.aboutError}</a>
            </p>
          </div>`
    }
  </section>`
}

/** A member who closed the window did not see what was produced, and asks. */
function renderAborted({ t, language }: OperatorContext, { turn, ending }: TurnStory): Html {
  const { turn: texts } = t.console
  if (ending !== 'aborted' || turn.credits === 0) return html``
  const number = (value: number): string => formatNumber(value, language)
  const values = { tokens: number(turn.outputTokens), credits: number(turn.credits), held: number(turn.reserved) }
  return html`<section class="card pad" aria-labelledby="title-aborted">
    <h2 id="title-aborted">${texts.whyCharged}</h2>
    <p>${interpolate(texts.abortedWhat, values)}</p>
  </section>`
}

function withoutDetails(text: string): string {
  return text.replaceAll(/\{\w+\}/g, '…')
}
