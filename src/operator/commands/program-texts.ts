/** `svc-gateway completion` and `svc-gateway man`: texts that are made from the command table. */
import { renderManPage, renderMarkdownTable } from '../../command-table/man-page.ts'
import { createCompletionScript } from '../../command-table/shell-completion.ts'
import { readVersion } from '../../system/version.ts'
import { getLanguage } from '../language.ts'
import { operatorProgram } from '../program.ts'
import type { CommandResult, OutputOptions } from '../output.ts'

export async function printCompletionScript(shell: string, { json }: OutputOptions): Promise<CommandResult> {
  const script = createCompletionScript(shell, operatorProgram, getLanguage())
  return { ok: true, text: json ? `${JSON.stringify({ shell, script })}\n` : script }
}

export async function printManPage({ json, markdown }: OutputOptions & { readonly markdown?: true }): Promise<CommandResult> {
  const language = getLanguage()
  const page =
    markdown === true ? renderMarkdownTable(operatorProgram, language) : renderManPage(operatorProgram, readVersion(), language)
  return { ok: true, text: json ? `${JSON.stringify({ format: markdown === true ? 'markdown' : 'roff', page })}\n` : page }
}
