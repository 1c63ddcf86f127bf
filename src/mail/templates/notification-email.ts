/** The email about an incident, to an operator. */
import { layOutHtml, layOutText } from './email-layout.ts'
import type { EmailBlock } from './email-layout.ts'
import type { EmailContent } from './email-templates.ts'

export function renderNotificationEmail(
  { name }: { readonly name: string },
  { title, text, time }: { readonly title: string; readonly text: string; readonly time: string },
): EmailContent {
  const blocks: readonly EmailBlock[] = [
    { kind: 'text', text },
    { kind: 'note', text: time },
  ]
  return { kind: 'notification', subject: title, text: layOutText(blocks), html: layOutHtml(blocks, { name, language: 'en' }) }
}
