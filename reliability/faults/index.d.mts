export const FAULTS: Readonly<Record<string, { readonly title: string }>>;
