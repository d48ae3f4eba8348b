import { longSections } from '../harness/long-sections.mjs';

export default longSections(5);
