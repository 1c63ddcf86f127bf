/** Lays out an email: the same blocks as plain text and as HTML. Mail programs support few styles, and load nothing from elsewhere. */

export type EmailBlock =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code'; readonly code: string }
  /** What a stranger chose, apart from our own words. */
  | { readonly kind: 'quote'; readonly text: string }
  | { readonly kind: 'link'; readonly label: string; readonly url: string }
  /** Below the text, in smaller letters; with `url` a link. */
  | { readonly kind: 'note'; readonly text: string; readonly url?: string }

export function layOutText(blocks: readonly EmailBlock[]): string {
  return `${blocks.map(toText).join('\n\n')}\n`
}

function toText(block: EmailBlock): string {
  if (block.kind === 'code') return `    ${block.code}`
  if (block.kind === 'quote') return `> ${block.text}`
  if (block.kind === 'link') return `${block.label}\n${block.url}`
  return block.kind === 'note' && block.url !== undefined ? `${block.text}\n${block.url}` : block.text
}

/** @param language of the reader; null if the blocks are in several */
export function layOutHtml(blocks: readonly EmailBlock[], { name, language }: { name: string; language: string | null }): string {
  return `<!doctype html>
<html${language === null ? '' : ` lang="${language === 'zh' ? 'zh-CN' : language}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${escape(name)}</title>
</head>
<body style="margin:0;padding:24px 16px;font:16px/1.5 -apple-system,'Segoe UI',Roboto,'Noto Sans SC',sans-serif">
<div style="max-width:520px;margin:0 auto;overflow-wrap:anywhere;word-break:break-word">
<p style="margin:0 0 24px;font-weight:600">${escape(name)}</p>
${blocks.map(toHtml).join('\n')}
</div>
</body>
</html>
`
}

function toHtml(block: EmailBlock): string {
  switch (block.kind) {
    case 'text':
      return `<p style="margin:0 0 16px">${escape(block.text)}</p>`
    case 'code':
      return `<p style="margin:0 0 16px;font:600 32px/1.2 ui-monospace,Menlo,Consolas,monospace;letter-spacing:4px">${escape(block.code)}</p>`
    case 'quote':
      return `<blockquote style="margin:0 0 16px;padding:4px 12px;border-left:3px solid #808080">${escape(block.text)}</blockquote>`
    case 'link':
      return `<p style="margin:0 0 24px"><a href="${escape(block.url)}" style="display:inline-block;padding:10px 18px;border-radius:8px;background:#0f7a55;color:#ffffff;text-decoration:none;font-weight:600">${escape(block.label)}</a></p>`
    case 'note': {
      const content = escape(block.text)
      const linkedContent =
        block.url === undefined ? content : `<a href="${escape(block.url)}" style="color:inherit">${content}</a>`
      return `<p style="margin:0 0 12px;font-size:14px;opacity:0.75">${linkedContent}</p>`
    }
  }
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
