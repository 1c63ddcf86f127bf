/** Conversations as files: one as Markdown for people, all as JSON for programs. */
import { createElement, getTexts, locale } from '../../page.ts'
import type { ChatMessage, ConversationRecord } from '../chat-message.ts'
import { toReadableText } from '../message-view.ts'
import type { ConversationStore } from './conversation-store.ts'

const texts = getTexts('chat')

interface ExportedConversation {
  readonly record: ConversationRecord
  readonly messages: readonly ChatMessage[]
}

export function toMarkdownFile({ record, messages }: ExportedConversation, asText: (content: string) => string): string {
  const parts = messages.map(({ role, model, content, images = [] }) => {
    const pictures = images.length === 0 ? [] : [`_${texts.attachedPictures}: ${images.length}_`]
    return [`## ${role === 'user' ? texts.you : (model ?? '')}`, ...pictures, asText(content)].join('\n\n')
  })
  const instructions = record.system === '' ? [] : [`> ${record.system.replaceAll('\n', '\n> ')}`]
  return `${[`# ${record.title}`, new Date(record.updatedAt).toLocaleString(locale), ...instructions, ...parts].join('\n\n')}\n`
}

export function toJsonFile(conversations: readonly ExportedConversation[]): string {
  const exportedConversations = conversations.map(({ record, messages }) => ({
    title: record.title,
    updated_at: new Date(record.updatedAt).toISOString(),
    instructions: record.system,
    temperature: record.temperature,
    messages: messages.map(({ role, model, content, reasoning, images, usage, credits }) => ({
      role,
      model,
      content,
      reasoning,
      images,
      usage,
      credits,
    })),
  }))
  return `${JSON.stringify({ conversations: exportedConversations }, null, 2)}\n`
}

/** A file name made of a title; characters that some system forbids are left out. */
export function toFileName(title: string, extension: string): string {
  const name = title
    .replaceAll(/[\p{Cc}\\/:*?"<>|.…]+/gu, ' ')
    .trim()
    .replaceAll(/\s+/g, '-')
    .slice(0, 60)
  return `${name === '' ? 'chat' : name}.${extension}`
}

export function downloadFile(name: string, type: string, content: string): void {
  const href = URL.createObjectURL(new Blob([content], { type }))
  createElement('a', { href, download: name }).click()
  // The download reads the address after this call has returned.
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
}

export async function exportConversation(store: ConversationStore, record: ConversationRecord): Promise<void> {
  const messages = await store.loadMessages(record.id)
  downloadFile(toFileName(record.title, 'md'), 'text/markdown', toMarkdownFile({ record, messages }, toReadableText))
}

/** @param name of the file, without its extension */
export async function exportAll(store: ConversationStore, name: string): Promise<void> {
  const records = await store.list()
  const all = await Promise.all(records.map(async (record) => ({ record, messages: await store.loadMessages(record.id) })))
  downloadFile(toFileName(name, 'json'), 'application/json', toJsonFile(all))
}
