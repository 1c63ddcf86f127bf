/**
 * A conversation on a terminal. The model receives every earlier turn; arrow keys recall earlier lines. Ctrl-C during an answer
 * stops that answer only (and the service cancels the turn), and the conversation keeps the part that came; Ctrl-C or Ctrl-D at the
 * prompt ends the conversation. A failed turn is shown and removed from the conversation; `/retry` repeats the question.
 */
import { createInterface } from 'node:readline'
import type { Context } from '../../context.ts'
import type { ExitCode } from '../../exit-code.ts'
import { exitCodes } from '../../exit-code.ts'
import { CommandFailure } from '../../failure.ts'
import { showFailure } from '../../show-failure.ts'
import { showNoticesNow } from '../client/service-client.ts'
import { switchModelHint } from '../client/service-failure.ts'
import type { ChatMessage } from './chat-turn.ts'
import type { ChatSession } from './chat-turn-view.ts'
import { printCutNote, streamAndPrintTurn, toSystemMessages } from './chat-turn-view.ts'
import { parseSlashCommand, runSlashCommand } from './slash-commands.ts'
import type { Conversation } from './slash-commands.ts'
import { printTurnFooter } from './turn-footer.ts'

export async function runChatRepl(context: Context, session: ChatSession, opening: string): Promise<ExitCode | void> {
  const conversation: Conversation = { session, messages: [], question: undefined }
  let history: string[] = []
  context.printNote({
    en: `${session.model} · /help · /clear starts a new conversation · /exit or Ctrl-D leaves`,
    zh: `${session.model} · /help 帮助 · /clear 清空对话 · /exit 或 Ctrl-D 退出`,
  })
  await showNoticesNow(context, session.site)
  let pendingText = opening
  for (;;) {
    const line = pendingText === '' ? await readLine(context, history) : { text: pendingText, history }
    pendingText = ''
    if (line === 'interrupted') return exitCodes.interrupted.code
    if (line === 'end') return
    history = line.history
    const text = line.text.trim()
    if (text === '') continue
    // A command that was sent to the model by mistake would be a charged turn. A leading space sends it.
    const command = parseSlashCommand(line.text)
    const next =
      command === undefined
        ? ({ kind: 'ask', question: text } as const)
        : await runInterruptibly(context, (signal) => runSlashCommand(context, conversation, command, signal))
    if (next?.kind === 'exit') return
    if (next?.kind === 'ask') await runTurn(context, conversation, next.question)
  }
}

/** Adds the question and its answer to the conversation, also a part of it, unless it failed. */
async function runTurn(context: Context, conversation: Conversation, question: string): Promise<void> {
  conversation.question = question
  const { session } = conversation
  const userMessage: ChatMessage = { role: 'user', content: question }
  const result = await runInterruptibly(context, (signal) =>
    streamAndPrintTurn(context, session, [...toSystemMessages(session), ...conversation.messages, userMessage], signal).catch(
      addRetryHint,
    ),
  )
  if (result === undefined) return
  conversation.messages.push(userMessage, { role: 'assistant', content: result.text })
  if (result.finish_reason === 'stopped')
    context.printNote({ en: '(stopped; this part stays in the conversation)', zh: '（已停止；这部分回答保留在对话中）' })
  printCutNote(context, result)
  await runInterruptibly(context, (signal) => printTurnFooter(context, session, result, signal))
}

/** Ctrl-C stops the work and not the conversation. Returns undefined after it has printed that the work was stopped or failed. */
async function runInterruptibly<Result>(
  context: Context,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result | undefined> {
  const stop = new AbortController()
  const release = context.interceptInterrupts(() => stop.abort())
  try {
    return await work(stop.signal)
  } catch (error) {
    if (stop.signal.aborted) {
      context.printNote({ en: '(stopped)', zh: '（已停止）' })
    } else if (error instanceof CommandFailure) {
      showFailure(toConversationFailure(error), context, context.language)
    } else {
      throw error
    }
    return undefined
  } finally {
    release()
  }
}

/** Only where the same question can succeed now: an answer of the service lists what helps. */
function addRetryHint(error: unknown): never {
  if (!(error instanceof CommandFailure) || (error.exit !== 'tryAgain' && error.exit !== 'timeout')) throw error
  const actions = error.details?.['actions']
  if (Array.isArray(actions) && !actions.includes('retry_later')) throw error
  const { code, text, exit, ref, details, cause } = error
  const hints = [...error.hints, { en: 'repeat the question: /retry', zh: '重新提问：/retry' }]
  throw new CommandFailure(code, text, { exit, hints, cause, ...(ref !== undefined && { ref }), ...(details && { details }) })
}

/** The advice in the words of the conversation. */
function toConversationFailure(failure: CommandFailure): CommandFailure {
  const { code, text, exit, ref, details, cause } = failure
  const hints = failure.hints.map((hint) =>
    hint === switchModelHint ? { en: 'choose another model: /model', zh: '换用其他模型：/model' } : hint,
  )
  return new CommandFailure(code, text, { exit, hints, cause, ...(ref !== undefined && { ref }), ...(details && { details }) })
}

/**
 * Reads one line from the user. The line editor exists only during the read: during an answer the terminal is in its ordinary
 * mode, where Ctrl-C is a signal.
 */
function readLine(
  context: Context,
  history: readonly string[],
): Promise<{ text: string; history: string[] } | 'interrupted' | 'end'> {
  return new Promise((resolve) => {
    const editor = createInterface({
      input: context.stdin,
      output: process.stderr,
      terminal: true,
      history: [...history],
      historySize: 200,
    })
    let savedHistory = [...history]
    editor.on('history', (lines: string[]) => {
      savedHistory = lines
    })
    const close = (answer: { text: string; history: string[] } | 'interrupted' | 'end') => {
      resolve(answer)
      editor.close()
    }
    editor.on('SIGINT', () => {
      context.stderr.write('\n')
      close('interrupted')
    })
    editor.on('close', () => resolve('end'))
    const lines: string[] = []
    editor.on('line', (line) => {
      lines.push(line)
      // A paste arrives in one chunk and is one question. It is sent after the user ends its last line.
      setImmediate(() => {
        if (editor.line === '' && lines.length > 0) close({ text: lines.splice(0).join('\n'), history: savedHistory })
      })
    })
    editor.setPrompt('> ')
    editor.prompt()
  })
}
