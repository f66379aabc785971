/**
 * Words that say little about what a text or a question is about, in languages that have such words, as `wordsOf` gives
 * them. Only how much they count depends on this list: a text of nothing else is still found.
 */
export const COMMON: ReadonlySet<string> = new Set(
  [
    "a about after all also am an and ani anyth ar as at be been befor but by can could did do doe for from get ha had have he her hi",
    "how i if in into is it just like mai me must my need no not of on onc onli or our out over she should so some than that",
    "the their them then there these thei thi to up us wa we were what when where which who whom whose why will with would you your",
    "aber als am an auf au bei da dem den der de die doch ein eine einem einen einer er e für fur gibt hat ich ihr im in ist kann man",
    "mein mit nach nicht noch nur oder sein sich sie sind soll und un uns von wa wann warum wa welch welche welchem welchen welcher",
    "welches wenn wer werd werden wie wir wird wo wohin zu zum zur über uber",
    "au aux avec c ce cett ces comment d dan de doit du elle en est et il j je l la le leur ma mai mon n ne nou on ont ou où pa",
    "par pour pourquoi quand que quel quell qui quoi s sa sont sur un une vou y à",
    "al como con cual cuál cuando cuándo cuanto de del donde dónde el ella en entre es esta está ha hay la las lo los mi nos o para pero",
    "por porque qué quien quién se según si sin sobre son su tien una y ya",
  ]
    .join(" ")
    .split(" "),
);
