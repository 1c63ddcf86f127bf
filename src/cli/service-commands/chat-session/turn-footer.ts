/** The line below an answer: model, tokens, and for a session what the turn cost and what is left. */
import { setTimeout as sleep } from 'node:timers/promises'
import { styleText } from 'node:util'
import type { showUsage } from '../../../api/membership/usage.ts'
import type { Context } from '../../context.ts'
import { CommandFailure } from '../../failure.ts'
import { isRecord } from '../../json.ts'
import { formatCount, formatTier } from '../../terminal/amounts.ts'
import { fitLines } from '../../terminal/fit-lines.ts'
import { sanitizeLine } from '../../terminal/sanitize-text.ts'
import { callEndpoint } from '../client/service-client.ts'
import type { TurnResult } from './chat-turn.ts'
import type { ChatSession } from './chat-turn-view.ts'

/** Only on a terminal, on standard error. A key does not open the account's figures. */
export async function printTurnFooter(
  context: Context,
  session: Pick<ChatSession, 'site' | 'credential'>,
  result: TurnResult,
  signal?: AbortSignal,
): Promise<void> {
  if (context.json || context.quiet || !context.stdout.isTerminal || !context.stderr.isTerminal) return
  const tokens = describeTokens(context, result.usage)
  const costs = session.credential.kind === 'session' ? await describeCosts(context, session, result.request_id, signal) : []
  const figures = [...tokens, ...costs]
  if (figures.length === 0) return
  const line = fitLines(context.stderr, [sanitizeLine(result.model), ...figures].join(' · '))
  context.printNote(context.stderr.styled ? styleText('dim', line, { validateStream: false }) : line)
}

/** None for an answer that was stopped, whose usage comes last. */
function describeTokens(context: Context, usage: unknown): readonly string[] {
  if (!isRecord(usage)) return []
  const input = formatCount(usage['prompt_tokens'])
  const output = formatCount(usage['completion_tokens'])
  return [context.localize({ en: `${input} tokens in, ${output} out`, zh: `输入 ${input}、输出 ${output} token` })]
}

const settlingMs = 500

/** The answer stands already, so figures that cannot be had are left out. */
async function describeCosts(
  context: Context,
  { site, credential }: Pick<ChatSession, 'site' | 'credential'>,
  requestId: string,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const readUsage = async () => {
    const { answer } = await callEndpoint<typeof showUsage>(context, site, {
      method: 'GET',
      path: '/api/membership/usage',
      credential,
      timeoutMs: 3000,
      ...(signal === undefined ? {} : { signal }),
    })
    return answer
  }
  try {
    let answer = await readUsage()
    const findTurn = () => answer.turns?.find((one) => one.request_id === requestId)
    // The service settles a stopped answer a moment after its client has gone.
    if (findTurn()?.state === 'held') answer = await sleep(settlingMs, undefined, signal && { signal }).then(readUsage)
    const turn = findTurn()
    if (turn === undefined || turn.state === 'held') return []
    const tightest = (answer.pools ?? [])
      .filter(({ tier, limit = 0 }) => tier === turn.tier && limit > 0)
      .toSorted((one, other) => getShareLeft(one) - getShareLeft(other))[0]
    const credits = formatCount(turn.credits)
    const left = formatCount(tightest?.remaining)
    const tier = formatTier(context, turn.tier)
    const window = windows[tightest?.window ?? 'day']
    return [
      context.localize({ en: `${credits} credits`, zh: `${credits} 点` }),
      ...(tightest === undefined
        ? []
        : [context.localize({ en: `${left} ${tier} left ${window.en}`, zh: `${window.zh}${tier}剩余 ${left}` })]),
    ]
  } catch (error) {
    if (!(error instanceof CommandFailure) && signal?.aborted !== true) throw error
    return []
  }
}

const windows = {
  day: { en: 'today', zh: '今日' },
  week: { en: 'this week', zh: '本周' },
  month: { en: 'this month', zh: '本月' },
} as const

function getShareLeft({
  remaining = 0,
  limit = 0,
}: {
  readonly remaining?: number | undefined
  readonly limit?: number | undefined
}): number {
  return limit <= 0 ? 1 : remaining / limit
}
