/** Formulas as MathML, loaded when an answer first has one. */
import temml from 'temml'

/** Draws a formula into an element. @throws where it is no TeX */
export function drawFormula(node: HTMLElement, tex: string, isBlock: boolean): void {
  const formulaNode = document.createElement('span')
  // Links, classes and pictures of a formula are refused, and macros that expand themselves end.
  temml.render(tex, formulaNode, { displayMode: isBlock, throwOnError: true, trust: false, maxExpand: 200, maxSize: [20, 20] })
  node.replaceChildren(...formulaNode.childNodes)
}
