/** The line below an answer: model, tokens, what the turn cost and what is left. */
import { setTimeout as sleep } from 'node:timers/promises'
import { styleText } from 'node:util'
import type { Context } from '../../context.ts'
import { CommandFailure } from '../../failure.ts'
import { isRecord } from '../../json.ts'
import { formatCount, formatTier } from '../../terminal/amounts.ts'
import { fitLines } from '../../terminal/fit-lines.ts'
import { sanitizeLine } from '../../terminal/sanitize-text.ts'
import { fetchCharge } from '../client/turn-charge.ts'
import type { TurnCharge } from '../client/turn-charge.ts'
import type { TurnResult } from './chat-turn.ts'
import type { ChatSession } from './chat-turn-view.ts'

/** Only on a terminal, on standard error. */
export async function printTurnFooter(
  context: Context,
  session: Pick<ChatSession, 'site' | 'credential'>,
  result: TurnResult,
  signal?: AbortSignal,
): Promise<void> {
  if (context.json || context.quiet || !context.stdout.isTerminal || !context.stderr.isTerminal) return
  const tokens = describeTokens(context, result.usage)
  const costs = await describeCosts(context, session, result, signal)
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

/** The answer carries its charge; for one that was stopped the service is asked. Figures that cannot be had are left out. */
async function describeCosts(
  context: Context,
  { site, credential }: Pick<ChatSession, 'site' | 'credential'>,
  { charge, finish_reason: finish, request_id: requestId }: TurnResult,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  if (charge !== null) return formatCharge(context, charge)
  // An older service sends none.
  if (finish !== 'stopped') return []
  const readCharge = () => fetchCharge(context, requestId, { site, credential, signal })
  try {
    // The service settles a stopped answer a moment after its client has gone.
    const charge = (await readCharge()) ?? (await sleep(settlingMs, undefined, signal && { signal }).then(readCharge))
    return charge === null ? [] : formatCharge(context, charge)
  } catch (error) {
    if (!(error instanceof CommandFailure) && signal?.aborted !== true) throw error
    return []
  }
}

/** `207 credits`, and `99.8K Fast left today`. */
export function formatCharge(context: Context, { credits, tier, left }: TurnCharge): readonly string[] {
  const chargedCredits = formatCount(credits)
  const cost = context.localize({ en: `${chargedCredits} credits`, zh: `${chargedCredits} 点` })
  const window = windows[left?.window ?? 'day'] ?? windows.day
  if (left === null || left === undefined) return [cost]
  const [name, rest] = [formatTier(context, tier), formatCount(left.credits)]
  return [cost, context.localize({ en: `${rest} ${name} left ${window.en}`, zh: `${window.zh}${name}剩余 ${rest}` })]
}

const windows = {
  day: { en: 'today', zh: '今日' },
  week: { en: 'this week', zh: '本周' },
  month: { en: 'this month', zh: '本月' },
} as const
