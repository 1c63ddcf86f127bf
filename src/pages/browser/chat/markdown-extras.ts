/**
 * Colours of code and the signs of formulas, given to blocks that do not change any more. What they need is loaded when the first such
 * block appears; where it cannot be loaded, code and formulas stay as they were written.
 */
import { createElement } from '../page.ts'

/** A longer formula is left as it was written, because its time has no bound. */
const maxFormulaLength = 4_000

export function finishBlock(node: HTMLElement): void {
  const blocks = node.matches('.code-block') ? [node] : node.querySelectorAll<HTMLElement>('.code-block')
  for (const block of blocks) void colorCode(block).catch(() => undefined)
  const formulas = node.matches('.formula') ? [node] : node.querySelectorAll<HTMLElement>('.formula')
  for (const formula of formulas) void drawSigns(formula).catch(() => undefined)
}

async function colorCode(block: HTMLElement): Promise<void> {
  const code = block.querySelector('code')
  const { language = '' } = block.dataset
  if (code === null || language === '') return
  const { highlightCode } = await import('../lazy/code-colors.ts')
  const tokens = highlightCode(code.textContent, language)
  if (tokens.length < 2) return
  code.replaceChildren(
    ...tokens.map(({ text, kind }) => (kind === null ? text : createElement('span', { class: `code-${kind}` }, text))),
  )
}

async function drawSigns(formula: HTMLElement): Promise<void> {
  const tex = formula.textContent
  if (tex.length > maxFormulaLength) return
  const { drawFormula } = await import('../lazy/formulas.ts')
  if (formula.querySelector('math') !== null) return
  drawFormula(formula, tex, formula.dataset['formula'] === 'block')
  formula.title = tex
}
