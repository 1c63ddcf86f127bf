/**
 * A conversation on a terminal. The model sees every earlier turn; arrow keys bring back earlier lines. Ctrl-C during an answer
 * stops that answer only (and the service cancels the turn), Ctrl-C or Ctrl-D at the prompt ends the dialogue. A turn that failed is
 * shown and taken out of the conversation, so it can be asked again.
 */
import { createInterface } from 'node:readline'
import type { Context } from '../context.ts'
import type { ExitCode } from '../exit-code.ts'
import { exitCodes } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
import { showFailure } from '../show-failure.ts'
import type { Text } from '../text.ts'
import type { Message } from './chat-turn.ts'
import type { Talk } from './talk.ts'
import { streamOnce, systemMessage } from './talk.ts'

export async function dialogue(context: Context, talk: Talk, opening: string): Promise<ExitCode | void> {
  const messages: Message[] = [...systemMessage(talk)]
  let history: string[] = []
  context.note({
    en: `${talk.model} · /help · /clear forgets the conversation · /exit or Ctrl-D leaves`,
    zh: `${talk.model} · /help 帮助 · /clear 清空对话 · /exit 或 Ctrl-D 退出`,
  })
  let pending = opening
  for (;;) {
    const line = pending === '' ? await ask(context, history) : { text: pending, history }
    pending = ''
    if (line === 'interrupted') return exitCodes.interrupted.code
    if (line === 'end') return
    history = line.history
    const text = line.text.trim()
    if (text === '/exit' || text === '/quit') return
    if (text === '/clear') messages.splice(0, messages.length, ...systemMessage(talk))
    if (text === '' || text === '/clear') continue
    // A word with a slash is meant for the dialogue: sent by mistake it would be a turn that is charged. A blank before it sends it.
    if (/^\/[a-z]*\??$/i.test(line.text)) {
      context.note(line.text === '/help' ? help : unknownWord(line.text))
      continue
    }
    const answer = await turn(context, talk, [...messages, { role: 'user', content: text }])
    if (answer !== undefined) messages.push({ role: 'user', content: text }, { role: 'assistant', content: answer })
  }
}

const help: Text = {
  en: [
    '/clear  forgets the conversation',
    '/exit   leaves, as Ctrl-D and /quit do',
    'Ctrl-C  stops an answer; at the prompt it leaves',
    'A line that is to be sent though it is one word with a slash: begin it with a blank.',
  ].join('\n'),
  zh: [
    '/clear  清空对话',
    '/exit   退出(同 Ctrl-D 或 /quit)',
    'Ctrl-C  停止回答;在提示符处则退出',
    '如需发送以斜杠开头的单词,请在行首加一个空格。',
  ].join('\n'),
}

function unknownWord(word: string): Text {
  return {
    en: `There is no ${word}; nothing was sent. /help lists what there is; a blank before it sends it as it is.`,
    zh: `没有命令 ${word},未发送。/help 查看可用命令;行首加空格可原样发送。`,
  }
}

/** The answer's text; undefined where it was stopped or failed, and that has been said. */
async function turn(context: Context, talk: Talk, messages: readonly Message[]): Promise<string | undefined> {
  const stop = new AbortController()
  const release = context.interrupted(() => stop.abort())
  try {
    const { text } = await streamOnce(context, talk, messages, stop.signal)
    return text
  } catch (error) {
    if (stop.signal.aborted) {
      context.note({ en: '(stopped)', zh: '(已停止)' })
    } else if (error instanceof CommandFailure) {
      showFailure(error, context, context.language)
    } else {
      throw error
    }
    return undefined
  } finally {
    release()
  }
}

/**
 * One line from the person. The line editor lives only while it is needed: during an answer the terminal is in its ordinary mode,
 * where Ctrl-C is a signal.
 */
function ask(context: Context, history: readonly string[]): Promise<{ text: string; history: string[] } | 'interrupted' | 'end'> {
  return new Promise((resolve) => {
    const editor = createInterface({
      input: context.stdin,
      output: process.stderr,
      terminal: true,
      history: [...history],
      historySize: 200,
    })
    let kept = [...history]
    editor.on('history', (lines: string[]) => {
      kept = lines
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
      // What is pasted comes in one go, and is one question: it is sent once its last line has been ended too.
      setImmediate(() => {
        if (editor.line === '' && lines.length > 0) close({ text: lines.splice(0).join('\n'), history: kept })
      })
    })
    editor.setPrompt('> ')
    editor.prompt()
  })
}
