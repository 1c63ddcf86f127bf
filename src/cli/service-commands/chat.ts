/** One question from the arguments or from standard input; without either, a conversation if a terminal is attached. */
import type { CommandHandler } from '../command.ts'
import type { Context } from '../context.ts'
import { createUsageFailure } from '../failure.ts'
import { readStdin } from '../read-stdin.ts'
import { Settings } from '../user-config/settings.ts'
import { sanitizeText } from '../terminal/sanitize-text.ts'
import { createAnswerPrinter } from './chat-session/answer-printer.ts'
import type { ChatMessage, TurnResult } from './chat-session/chat-turn.ts'
import { requestTurn } from './chat-session/chat-turn.ts'
import { runChatRepl } from './chat-session/chat-repl.ts'
import { printTurnFooter } from './chat-session/turn-footer.ts'
import { requireCredential, readSite } from './client/site.ts'
import type { ChatSession } from './chat-session/chat-turn-view.ts'
import { printCutNote, streamAndPrintTurn, toSystemMessages } from './chat-session/chat-turn-view.ts'

export const run: CommandHandler = async (context, args, options) => {
  const site = readSite(context)
  const credential = requireCredential(context, site, 'any')
  const talk: ChatSession = {
    site,
    credential,
    model: options.getText('model') ?? new Settings(context.environment).get('model').value ?? 'auto',
    system: options.getText('system'),
    raw: options.getFlag('raw'),
    stream: !options.getFlag('no-stream'),
  }
  const words = args.getList('prompt')
  if (options.getFlag('interactive') || (words.length === 0 && context.stdin.isTTY)) {
    if (context.json)
      throw createUsageFailure({
        en: '--json works with one question, not in a conversation.',
        zh: '--json 只用于单次提问，不能用于对话。',
      })
    if (!context.stdin.isTTY) throw createUsageFailure({ en: 'A conversation needs a terminal.', zh: '对话模式需要终端。' })
    return runChatRepl(context, talk, words.join(' '))
  }
  const prompt = await readPrompt(context, words)
  const messages: ChatMessage[] = [...toSystemMessages(talk), { role: 'user', content: prompt }]
  const result = talk.stream
    ? await streamAndPrintTurn(context, talk, messages)
    : await requestTurn(context, site, credential, { model: talk.model, messages })
  if (context.json) return context.printResult(result, () => '')
  if (!talk.stream) {
    const printer = createAnswerPrinter(context, talk.raw)
    printer.push(result.text)
    printer.end()
  }
  printCutNote(context, result)
  printDetails(context, result)
  await printTurnFooter(context, talk, result)
}

function printDetails(context: Context, { model, usage, charge, request_id }: TurnResult): void {
  const figures = `usage: ${JSON.stringify(usage)} · charge: ${JSON.stringify(charge)}`
  context.printDetail(sanitizeText(`model: ${model} · ${figures} · request id: ${request_id}`))
}

/** An argument `-` stands for standard input: `svc chat "Summarise:" - < notes.txt`. */
async function readPrompt(context: Context, words: readonly string[]): Promise<string> {
  const wantsInput = words.length === 0 || words.includes('-')
  const input = wantsInput ? (await readStdin(context)).trimEnd() : ''
  const prompt =
    words.length === 0
      ? input
      : words
          .map((word) => (word === '-' ? `\n\n${input}` : word))
          .join(' ')
          .trim()
  if (prompt.trim() === '') throw createUsageFailure({ en: 'The prompt is empty.', zh: '提问内容为空。' })
  return prompt
}
