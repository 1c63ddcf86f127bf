/** The commands inside a conversation: `/help`, `/model` and the like. A line that begins with a slash and a word is never sent. */
import { writeFileSync } from 'node:fs'
import type { listModels } from '../../../api/models/models.ts'
import type { Context } from '../../context.ts'
import { createUnwritableFailure } from '../../failure.ts'
import type { LocalizedText } from '../../../command-table/localized-text.ts'
import { wrapText } from '../../../system/terminal/wrap-text.ts'
import { sanitizeLine, sanitizeText } from '../../terminal/sanitize-text.ts'
import { createImages, describeSavedFile } from '../image.ts'
import { callEndpoint } from '../client/service-client.ts'
import { formatModels } from '../models.ts'
import type { ChatMessage } from './chat-turn.ts'
import type { ChatSession } from './chat-turn-view.ts'
import { printTurnFooter } from './turn-footer.ts'

/** A conversation in progress. */
export interface Conversation {
  session: ChatSession
  /** Questions and answers, oldest first, without the system prompt. */
  messages: ChatMessage[]
  /** The latest question, also where its answer failed. */
  question: string | undefined
}

/** What the conversation does next: reads a line, asks a question, or ends. */
type NextStep = { readonly kind: 'read' } | { readonly kind: 'ask'; readonly question: string } | { readonly kind: 'exit' }

const readStep: NextStep = { kind: 'read' }

/** Undefined for a line that is no command: `/etc/hosts` is a path. */
export function parseSlashCommand(line: string): { readonly name: string; readonly argument: string } | undefined {
  const [, name, argument = ''] = /^\/([a-z?]+)(?:\s+([^]*))?$/i.exec(line) ?? []
  return name === undefined ? undefined : { name: name.toLowerCase(), argument: argument.trim() }
}

export async function runSlashCommand(
  context: Context,
  conversation: Conversation,
  { name, argument }: { readonly name: string; readonly argument: string },
  signal: AbortSignal,
): Promise<NextStep> {
  switch (name) {
    case 'help':
    case '?':
      context.printNote(formatHelp(context))
      return readStep
    case 'exit':
    case 'quit':
      return { kind: 'exit' }
    case 'clear':
      conversation.messages = []
      conversation.question = undefined
      context.printNote({ en: 'A new conversation.', zh: '新的对话。' })
      return readStep
    case 'model':
    case 'models':
      await chooseModel(context, conversation, argument)
      return readStep
    case 'system':
      setSystem(context, conversation, argument)
      return readStep
    case 'save':
      saveConversation(context, conversation, argument)
      return readStep
    case 'retry':
      return retry(context, conversation)
    case 'image':
      await createImage(context, conversation, argument, signal)
      return readStep
    default:
      context.printNote({
        en: `There is no /${name}; nothing was sent. /help lists the commands; a leading space sends the line as it is.`,
        zh: `没有命令 /${name}，未发送。/help 查看可用命令；行首加空格可原样发送。`,
      })
      return readStep
  }
}

const commands: readonly (readonly [string, LocalizedText])[] = [
  ['/model [id]', { en: 'lists the models, or answers with another from now on', zh: '列出模型，或切换之后使用的模型' }],
  ['/system [text]', { en: 'shows or sets the instructions; - removes them', zh: '查看或设置系统指令；- 为清除' }],
  ['/retry', { en: 'asks the latest question again', zh: '重新提出上一个问题' }],
  ['/image <text>', { en: 'creates an image and saves it', zh: '生成图片并保存' }],
  ['/save [file]', { en: 'writes the conversation to a Markdown file', zh: '将对话保存为 Markdown 文件' }],
  ['/clear', { en: 'forgets the conversation', zh: '清空对话' }],
  ['/exit', { en: 'leaves, as Ctrl-D and /quit do', zh: '退出（同 Ctrl-D 或 /quit）' }],
  ['Ctrl-C', { en: 'stops an answer; at the prompt it leaves', zh: '停止回答；在提示符处则退出' }],
]

function formatHelp(context: Context): string {
  const width = 16
  const columns = Math.min(100, context.stderr.columns) - width
  const rows = commands.map(
    ([command, text]) => `${command.padEnd(width)}${wrapText(context.localize(text), columns).join(`\n${' '.repeat(width)}`)}`,
  )
  const note = context.localize({
    en: 'A line that is to be sent though it begins with a slash and a word: begin it with a space.',
    zh: '如需发送以斜杠和单词开头的内容，请在行首加一个空格。',
  })
  return [...rows, ...wrapText(note, columns + width)].join('\n')
}

async function chooseModel(context: Context, conversation: Conversation, id: string): Promise<void> {
  const { site, credential } = conversation.session
  const models = await callEndpoint<typeof listModels>(context, site, { method: 'GET', path: '/v1/models', credential }).then(
    ({ answer }) => answer.data ?? [],
  )
  const current = conversation.session.model
  if (id === '') {
    context.printNote(`${formatModels(context, models)}\n${context.localize({ en: `Now: ${current}`, zh: `当前:${current}` })}`)
    return
  }
  // The service knows names that it does not list, such as aliases.
  if (id !== 'auto' && !models.some((model) => model.id === id)) {
    const modelNames = models.map((model) => sanitizeLine(model.id ?? '')).join(', ')
    context.printNote({ en: `There is no model ${id}. There are: ${modelNames}`, zh: `没有模型 ${id}。可用：${modelNames}` })
    return
  }
  conversation.session = { ...conversation.session, model: id }
  context.printNote({ en: `The next answers come from ${id}.`, zh: `之后由 ${id} 回答。` })
}

function setSystem(context: Context, conversation: Conversation, text: string): void {
  if (text !== '') conversation.session = { ...conversation.session, system: text === '-' ? undefined : text }
  const { system } = conversation.session
  context.printNote(
    system === undefined
      ? { en: 'There are no instructions.', zh: '没有系统指令。' }
      : { en: `Instructions: ${sanitizeText(system)}`, zh: `系统指令：${sanitizeText(system)}` },
  )
}

function retry(context: Context, conversation: Conversation): NextStep {
  const { question, messages } = conversation
  if (question === undefined) {
    context.printNote({ en: 'There is no question to repeat.', zh: '没有可重新提出的问题。' })
    return readStep
  }
  const [lastQuestion, answer] = messages.slice(-2)
  if (lastQuestion?.content === question && answer?.role === 'assistant') conversation.messages = messages.slice(0, -2)
  return { kind: 'ask', question }
}

/** Writes a new file; an existing one stays as it is. */
function saveConversation(context: Context, { session, messages }: Conversation, name: string): void {
  if (messages.length === 0) return context.printNote({ en: 'There is nothing to save yet.', zh: '还没有可保存的内容。' })
  const stamp = new Date(context.now()).toISOString().slice(0, 19).replaceAll(/\D/g, '')
  const file = name === '' ? `chat-${stamp}.md` : name
  const turns = messages.map(({ role, content }) => `## ${role === 'user' ? 'Question' : 'Answer'}\n\n${content.trimEnd()}\n`)
  const system = session.system === undefined ? [] : [`## Instructions\n\n${session.system}\n`]
  try {
    writeFileSync(file, [`# ${session.model}\n`, ...system, ...turns].join('\n'), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    throw createUnwritableFailure(file, error)
  }
  context.printNote(describeSavedFile(context.stderr, file))
}

async function createImage(context: Context, { session }: Conversation, prompt: string, signal: AbortSignal): Promise<void> {
  if (prompt === '')
    return context.printNote({ en: 'What should the image show? /image <text>', zh: '图片内容是什么？/image <文字>' })
  const { site, credential } = session
  const { files, turn } = await createImages(context, { site, credential, model: `${site.brand}-img` }, prompt, signal)
  for (const { file } of files) context.printNote(describeSavedFile(context.stderr, file))
  await printTurnFooter(context, session, turn, signal)
}
