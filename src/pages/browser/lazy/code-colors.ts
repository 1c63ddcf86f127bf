/** Colours of program code, loaded when an answer first has a block of code. */
export { highlightCode } from '../../../markdown/highlight-code.ts'
