/** One question from the command line or from standard input, or a dialogue where there is neither and a person is at the terminal. */
import type { Run } from '../command.ts'
import type { Context } from '../context.ts'
import { usageFailure } from '../failure.ts'
import { readInput } from '../read-input.ts'
import { Settings } from '../settings.ts'
import { terminalText } from '../terminal-text.ts'
import { answerPrinter } from './answer-printer.ts'
import type { Message, TurnResult } from './chat-turn.ts'
import { wholeTurn } from './chat-turn.ts'
import { dialogue } from './dialogue.ts'
import { needCredential, readSite } from './site.ts'
import type { Talk } from './talk.ts'
import { streamOnce, systemMessage } from './talk.ts'

export const run: Run = async (context, args, options) => {
  const site = readSite(context)
  const credential = needCredential(context, site, 'any')
  const talk: Talk = {
    site,
    credential,
    model: options.text('model') ?? new Settings(context.environment).get('model').value ?? 'auto',
    system: options.text('system'),
    raw: options.flag('raw'),
    stream: !options.flag('no-stream'),
  }
  const words = args.list('prompt')
  if (options.flag('interactive') || (words.length === 0 && context.stdin.isTTY)) {
    if (context.json)
      throw usageFailure({ en: '--json is for one question, not for a dialogue.', zh: '--json 只用于单次提问,不能用于对话。' })
    if (!context.stdin.isTTY) throw usageFailure({ en: 'A dialogue needs a terminal.', zh: '对话模式需要终端。' })
    return dialogue(context, talk, words.join(' '))
  }
  const prompt = await readPrompt(context, words)
  const messages: Message[] = [...systemMessage(talk), { role: 'user', content: prompt }]
  const result = talk.stream
    ? await streamOnce(context, talk, messages)
    : await wholeTurn(context, site, credential, { model: talk.model, messages })
  if (context.json) return context.result(result, () => '')
  if (!talk.stream) {
    const printer = answerPrinter(context, talk.raw)
    printer.push(result.text)
    printer.end()
  }
  detailOf(context, result)
}

function detailOf(context: Context, { model, usage, request_id, finish_reason }: TurnResult): void {
  if (finish_reason === 'length')
    context.note({ en: '(cut: the answer reached its longest length)', zh: '(回答已达长度上限,被截断)' })
  if (finish_reason === 'content_filter') context.note({ en: '(cut: the content policy)', zh: '(回答因内容政策被截断)' })
  context.detail(terminalText(`model: ${model} · usage: ${JSON.stringify(usage)} · request id: ${request_id}`))
}

/** `-` among the words stands for standard input: `svc chat "Summarise:" - < notes.txt`. */
async function readPrompt(context: Context, words: readonly string[]): Promise<string> {
  const wantsInput = words.length === 0 || words.includes('-')
  const input = wantsInput ? (await readInput(context)).trimEnd() : ''
  const prompt =
    words.length === 0
      ? input
      : words
          .map((word) => (word === '-' ? `\n\n${input}` : word))
          .join(' ')
          .trim()
  if (prompt.trim() === '') throw usageFailure({ en: 'There is nothing to ask: the prompt is empty.', zh: '提问内容为空。' })
  return prompt
}
