"""The words that `languages.py` uses to read other languages: one table for each. Pure.

Every field is part of a regular expression, unless its comment says otherwise. An underscore in a
list of words means a space.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

# A place by name: the words after it are in lower case.
PLACE = (
    r"(?P<value>(?-i:[A-ZÀ-Þ])[\w'-]+(?: (?:(?:de|la|le|am|an der|do|dos) )?"
    r"(?-i:[A-ZÀ-Þ])[\w'-]+){0,3})"
)


class Tongue(NamedTuple):
    """The words and patterns of one language."""

    code: str
    marks: str  # a list: words that only this language has, or that are not English
    i: str  # the subject; where it can be omitted, including its space
    my: str
    a: str  # articles, which are no part of a value
    live: str
    lived: str
    lives: str  # the third person
    into: str  # before a place
    work: str
    worked: str
    works: str
    at: str  # before an employer
    as_: str  # before a job
    am: str
    is_: str
    named: str  # "my name is"
    called: str  # "is called"
    aged: str  # with the group `value`
    allergic: str
    diets: str
    jobs: str  # the form of words for professions
    like: str
    likes: str  # the third person
    dislike: str
    dislikes: str
    have: str
    no: str  # a negation before the verb, or in its place
    after: str  # a negation after the verb
    ended: str  # the negations that mean "any more"
    once: str  # "formerly"
    plan: str
    move: str  # a plan by itself, with the group `value`
    moved: str  # the same, completed
    verbs: Mapping[str, str]  # the first person, and the verb in the attribute
    kin: Mapping[str, str]  # attributes, and the nouns for each
    joins: str  # where a new part begins
    cut: str  # where a value ends
    doubt: str
    asks: str  # words that begin a question
    polite: str  # words around an order
    order: str  # how an order begins
    always: str
    call: str  # how to address the speaker: always a standing order
    this: str  # words that make an order a one-time request
    settled: str  # words for what has been decided
    left: str  # words for what is still to be done


GERMAN = Tongue(
    code="de",
    marks=(
        "ich und nicht der das ist ein eine einen mein meine meinen unser unsere bin habe mit"
        " auf für zu dem wir auch aber wie kannst du mir mich bitte immer nie jetzt heißt"
        " wohne arbeite seit von zum zur sich sie noch nur kein keine keinen wenn dass weil"
        " über früher antworte verwende nenn schreib gibt wird hat sind wo dir dich nach märz"
        " hier mache meinem duze duz"
    ),
    i=r"(?:ich|wir)\s",
    my=r"(?:meine?[rnm]?|unsere?[rnm]?)",
    a=r"(?:de[rmns]|die|das|eine?[rnm]?|keine?[rnm]?|meine?[rnm]?|unsere?[rnm]?)",
    live=r"(?:wohne|wohnen|lebe|leben)",
    lived=r"(?:wohnte|wohnten|lebte|lebten|gewohnt|gelebt)",
    lives=r"(?:wohnt|lebt)",
    into=r"(?:in|im|bei|nach|auf)",
    work=r"(?:arbeite|arbeiten)",
    worked=r"(?:arbeitete|arbeiteten|gearbeitet)",
    works=r"(?:arbeitet)",
    at=r"(?:bei|beim|für)",
    as_=r"als",
    am=r"(?:bin|sind)",
    is_=r"(?:ist|sind|lautet)",
    named=r"(?:ich heiße|ich heisse|mein name ist)",
    called=r"(?:heißt|heisst|heißen|namens|genannt)",
    aged=r"ich bin (?:jetzt |gerade )?(?P<value>\d{1,3})(?: jahre)?(?: alt)?\b",
    allergic=r"(?:allergisch (?:gegen|auf)|allergie gegen)",
    diets=r"(?:vegetarier(?:in)?|vegetarisch|veganer(?:in)?|vegan|pescetarier(?:in)?)",
    jobs=r"(?-i:[A-ZÄÖÜ])[\w-]+",
    like=r"(?:mag|mögen|liebe|lieben)",
    likes=r"(?:mag|liebt)",
    dislike=r"(?:hasse|hassen|verabscheue)",
    dislikes=r"(?:hasst|verabscheut)",
    have=r"(?:habe|hab|haben|besitze)",
    no=r"",
    after=r"(?:nicht mehr|nicht|kein(?:e[nrm]?)? mehr|keine[nrm]?|kein|nie)",
    ended=r"mehr",
    once=r"(?:früher|damals|bis vor kurzem)",
    plan=r"(?:ich|wir) (?:werden?|plane|planen|will|wollen|möchten?|habe vor)",
    move=r"\bzieh(?:e|en) (?:ich |wir )?(?:\w+ ){0,3}?nach (?P<value>[\w-]+)",
    moved=rf"\b(?:bin|sind) (?:(?:ich|wir) )?(?:[\w-]+ ){{0,4}}?nach {PLACE} (?:um)?gezogen\b",
    verbs={
        "nutze": "nutzen", "nutzen": "nutzen", "benutze": "benutzen", "verwende": "verwenden",
        "spiele": "spielen", "trinke": "trinken", "esse": "essen", "fahre": "fahren",
        "lerne": "lernen", "spreche": "sprechen", "studiere": "studieren", "mache": "machen",
    },
    kin={
        "partner": "mann frau freundin partner partnerin ehemann ehefrau verlobter verlobte",
        "child": "sohn tochter kind kinder söhne töchter baby",
        "parent": "mutter vater mama papa eltern",
        "sibling": "bruder schwester brüder schwestern geschwister",
        "pet": "hund hündin katze kater pferd hamster kaninchen wellensittich",
    },
    joins=r"und|aber|weil|denn|sondern",
    cut=(
        r"und|als|aber|weil|denn|sondern|dass|wo|wie|seit|damit|deshalb|heute|jetzt|inzwischen"
        r"|mit|oder"
    ),
    doubt=(
        r"wenn|falls|vielleicht|angeblich|würde|würden|wäre|könnte|gerücht\w*|ob|hätte|angenommen"
        r"|stell dir vor|man sagt|es heißt"
    ),
    asks=r"wie|was|wer|wo|wann|warum|wieso|welche[rsnm]?|kannst|könntest|gibt|hast|ist|soll|findet",
    polite=r"bitte|also|hallo|hi|hey|ok|und",
    order=(
        r"(?:antwort|schreib|verwend|benutz|nutz|sprich|sprech|rede|nenn|gib|halt|vermeid|lass|zeig"
        r"|formulier|erklär|fass|nimm|sag|plan|buch|frag|rechne|bleib|sei|spar|stell|schick"
        r"|kürz)\w*"
    ),
    always=(
        r"immer|nie|niemals|ab jetzt|ab sofort|von jetzt an|künftig|in zukunft|grundsätzlich"
        r"|jedes mal"
        r"|stets|generell"
    ),
    call=(
        r"(?:nenn(?:e|t|en sie)? mich|dutz? mich|duze? mich|sieze? mich|sag(?:e)? du zu mir"
        r"|sprich mich)"
    ),
    this=r"diese[rsnm]?|hier|diesmal|oben|unten|folgende[nrsm]?|den|das|der text|dem",
    settled=(
        r"lasst? uns|(?:wir|ich) (?:nehmen?|behalten?|bleiben?|nutzen?|verwenden?|wechseln?"
        r"|streichen?)|nehmen wir|bleiben wir|entschieden|beschlossen|geeinigt|statt|anstelle"
        r"|abgemacht"
    ),
    left=(
        r"als nächstes|noch (?:zu|offen|nicht|aus|fällig)|fehlt noch|fehlen noch|bleibt noch"
        r"|offene frage|steht noch aus|(?:muss|müssen|schlägt|schlagen) noch"
    ),
)  # fmt: skip
SPANISH = Tongue(
    code="es",
    marks=(
        "el los las y en mi mis yo por con para una soy muy pero porque como qué cómo tengo"
        " vivo trabajo nunca siempre llámame respóndeme responde respondas hijo hija hermano"
        " hermana gusta encanta se llama ahora antes que nuestro nuestra estoy somos"
        " escribe dame hazme necesito quiero usted también desde tiene está partir español"
        " inglés respuestas hoy años niños dice llamo"
    ),
    i=r"(?:(?:yo|nosotros|nosotras) )?",
    my=r"(?:mis?|nuestr[oa]s?)",
    a=r"(?:el|la|los|las|un|una|unos|unas|mis?|nuestr[oa]s?|al|del|lo)",
    live=r"(?:vivo|vivimos|resido)",
    lived=r"(?:vivía|vivíamos|viví|vivimos antes)",
    lives=r"(?:vive|viven)",
    into=r"(?:en|por|cerca de)",
    work=r"(?:(?:sigo )?trabajo|trabajamos|trabajando)",
    worked=r"(?:trabajaba|trabajábamos|trabajé)",
    works=r"(?:trabaja)",
    at=r"(?:en|para|con)",
    as_=r"(?:como|de)",
    am=r"(?:soy|somos|estoy)",
    is_=r"(?:es|son|está|queda)",
    named=r"(?:me llamo|mi nombre es)",
    called=r"(?:se llaman?|llamad[oa]s?)",
    aged=r"(?:tengo|tenemos) (?P<value>\d{1,3}) años",
    allergic=r"(?:(?:alérgic[oa]s?|intolerantes?) (?:a|al)|alergia a)",
    diets=r"(?:vegetarian[oa]s?|vegan[oa]s?|celíac[oa]s?)",
    jobs=(
        r"(?:jef[ea]|médic[oa]|arquitect[oa]|abogad[oa]|cociner[oa]|estudiante|profe|maestr[oa]"
        r"|\w+(?:ista|ador|adora|edor|edora|tor|tora|sora?|sor|ñador|ñadora|ero|era|ólog[oa]"
        r"|nier[oa]|dente|ógraf[oa]))"
    ),
    like=r"(?:me gustan?|me encantan?|adoro|amo|prefiero|nos gustan?|nos encantan?)",
    likes=r"(?:le gustan?|le encantan?|adora|ama|prefiere)",
    dislike=r"(?:odio|detesto|no soporto)",
    dislikes=r"(?:odia|detesta|no soporta)",
    have=r"(?:tengo|tenemos)",
    no=r"(?:ya no|no|nunca)",
    after=r"(?:ningun[oa]?|nada)",
    ended=r"ya no",
    once=r"(?:antes|antiguamente)",
    plan=r"(?:voy a|vamos a|quiero|queremos|quisiera|pienso|planeo|me gustaría|nos gustaría)",
    move=(
        r"\b(?:me mudo|nos mudamos) a (?P<value>[\w-]+)|\b(?P<deed>me jubilo|me caso"
        r"|nos casamos)\b"
    ),
    moved=rf"\b(?:me (?:mudé|he mudado)|nos (?:mudamos|hemos mudado)) a {PLACE}",
    verbs={
        "uso": "usar", "usamos": "usar", "bebo": "beber", "como": "comer", "juego": "jugar",
        "toco": "tocar", "hablo": "hablar", "estudio": "estudiar", "aprendo": "aprender",
        "comparto": "compartir", "conduzco": "conducir", "utilizo": "utilizar",
    },
    kin={
        "partner": "marido mujer esposa esposo novio novia pareja",
        "child": "hijo hija hijos hijas niño niña niños niñas bebé",
        "parent": "madre padre mamá papá padres",
        "sibling": "hermano hermana hermanos hermanas",
        "pet": "perro perra gato gata caballo perros gatos",
    },
    joins=r"y|e|pero|porque|aunque|sino|así que",
    cut=r"y|como|e|pero|porque|aunque|sino|que|donde|desde|ahora|así que|con|cuando|o|para",
    doubt=(
        r"si|quizás?|tal vez|dicen que|me dijeron|a lo mejor|supongamos|imagina|podría|viviera"
        r"|rumor\w*"
    ),
    asks=r"qué|cómo|cuál|cuánt[oa]s?|dónde|quién|cuándo|por qué|puedes|podrías|me ayudas",
    polite=r"por favor|porfa|oye|hola|bueno|y|favor de",
    order=(
        r"(?:respónd|respond|escrib|escríb|us[ae]|utili[cz]|habl|háblam|dame|dime|hazme|mantén|evit"
        r"|pon|muéstr|explic|explíc|llam|llám|emple|no (?:\w+ )?\w+[ae]s?\b|agend|program|cit"
        r"|deja)\w*"
    ),
    always=(
        r"siempre|nunca|jamás|a partir de ahora|de ahora en adelante|en adelante|en el futuro"
        r"|cada vez"
        r"|por defecto|desde ahora|en general"
    ),
    call=r"(?:llámame|llámeme|trátame de|tutéame|no me trates|no me tratéis|háblame de)",
    this=r"est[aeo]s?|aquí|esta vez|siguientes?|anterior|el texto|arriba|abajo",
    settled=(
        r"vamos a (?:usar|seguir|cambiar|quedarnos|dejar)|usemos|usaremos|(?:nos )?quedamos con"
        r"|decidido|decidimos|decidí|en (?:lugar|vez) de|acordamos|acordado|optamos por"
    ),
    left=(
        r"por hacer|pendientes?|quedan? por|faltan?|todavía (?:no|hay|queda)|aún (?:no|hay|queda)"
        r"|(?:siguiente|próximo) paso|sigue fallando|siguen fallando"
    ),
)  # fmt: skip
FRENCH = Tongue(
    code="fr",
    marks=(
        "je j'ai j'habite le les et est des pas du suis mon ma mes nous vous tu une un que"
        " qui dans avec pour sur au aux toujours jamais réponds appelle-moi tutoie-moi habite"
        " travaille mais n'utilise ne plus notre nos très c'est ça combien comment à où il"
        " elle d'émojis moi traduis rédige écris désormais s'appelle chez n'ai ai aussi parce"
    ),
    i=r"(?:je |j'|nous |on )(?:ne |n')?",
    my=r"(?:mon|ma|mes|notre|nos)",
    a=r"(?:le |la |les |l'|un |une |des |du |de la |de l'|de |d'|au |aux |mon |ma |mes )",
    live=r"(?:habite|habitons|vis|vivons)",
    lived=r"(?:habitais|habitions|vivais|vivions)",
    lives=r"(?:habite|vit)",
    into=r"(?:à|au|aux|en|dans|près de)",
    work=r"(?:travaille|travaillons|bosse)",
    worked=r"(?:travaillais|travaillions|bossais)",
    works=r"(?:travaille|bosse)",
    at=r"(?:chez|à|au|dans|pour)",
    as_=r"(?:comme|en tant que)",
    am=r"(?:suis|sommes|est)",
    is_=r"(?:est|sont|se trouve)",
    named=r"(?:je m'appelle|mon nom est|moi c'est)",
    called=r"(?:s'appelle(?:nt)?|nommée?|appelée?)",
    aged=r"j'ai (?P<value>\d{1,3}) ans",
    allergic=r"(?:allergique (?:à|aux|au)|allergie (?:à|aux|au))",
    diets=r"(?:végétarien(?:ne)?s?|végane?s?|vegane?s?|végétalien(?:ne)?s?)",
    jobs=(
        r"(?:médecin|prof|chef|cheffe|avocate?|architecte|étudiante?|dentiste|\w+(?:eur|euse"
        r"|ière|ier"
        r"|iste|trice|logue|cien|cienne|graphe|ecte|aire))"
    ),
    like=r"(?:aime(?: bien| beaucoup)?|adore|aimons|adorons|préfère)",
    likes=r"(?:aime(?: bien| beaucoup)?|adore|préfère)",
    dislike=r"(?:déteste|détestons|hais)",
    dislikes=r"(?:déteste|hait)",
    have=r"(?:ai|avons|a)",
    no=r"",
    after=r"(?:pas|plus|jamais|aucune?)",
    ended=r"plus",
    once=r"(?:avant|autrefois|auparavant)",
    plan=(
        r"(?:je vais|nous allons|on va|je veux|j'aimerais|je compte|je voudrais"
        r"|j'ai l'intention de)"
    ),
    move=r"\b(?:je déménage|nous déménageons|on déménage) (?:à|au|en) (?P<value>[\w-]+)",
    moved=rf"\b(?:j'ai|nous avons|on a) déménagé (?:à|au|en) {PLACE}",
    verbs={
        "utilise": "utiliser", "utilisons": "utiliser", "bois": "boire", "mange": "manger",
        "joue": "jouer", "parle": "parler", "étudie": "étudier", "apprends": "apprendre",
        "conduis": "conduire", "dors": "dormir", "prépare": "préparer",
    },
    kin={
        "partner": "mari femme copain copine compagnon compagne conjoint conjointe fiancé fiancée",
        "child": "fils fille enfant enfants filles bébé",
        "parent": "mère père maman papa parents",
        "sibling": "frère soeur sœur frères soeurs sœurs",
        "pet": "chien chienne chat chatte cheval lapin",
    },
    joins=r"et|mais|parce que|car|donc|alors",
    cut=r"et|comme|mais|parce que|car|que|qui|où|depuis|donc|avec|quand|ou|alors|pour",
    doubt=(
        r"si|s'il|peut-être|on m'a dit|il paraît|apparemment|imaginons|habitais à|pourrait"
        r"|rumeurs?|bruits"
    ),
    asks=(
        r"comment|quel(?:le)?s?|combien|où|qui|quand|pourquoi|est-ce|tu peux|peux-tu|tu as"
        r"|t'aurais|pouvez|que"
    ),
    polite=(
        r"s'il te plaît|s'il vous plaît|stp|svp|merci de|bonjour|salut|et"
        r"|auriez-vous l'amabilité de"
    ),
    order=(
        r"(?:répon|écri|rédig|utilis|parl|appell|donn|gard|évit|mets|mett|montr|expliqu|fai[st]"
        r"|n'\w+"
        r"|ne \w+|emploi|emploie|tutoi|vouvoi|cit|planifi|arrêt|sois|reste|toujours)\w*"
    ),
    always=(
        r"toujours|jamais|à partir de maintenant|désormais|dorénavant|à l'avenir|chaque fois"
        r"|par défaut"
        r"|systématiquement|en général"
    ),
    call=(
        r"(?:appelle-moi|appelez-moi|tutoie-moi|tutoyez-moi|vouvoie-moi|vouvoyez-moi"
        r"|on se tutoie)"
    ),
    this=r"cet?|cette|ces|ici|cette fois|suivante?s?|ci-dessous|ci-dessus|le texte",
    settled=(
        r"on (?:va (?:utiliser|garder|passer|rester)|garde|utilise|prend|passe à|reste)|utilisons"
        r"|gardons|nous (?:gardons|utilisons|prenons|restons)|prenons|décidé|au lieu de|plutôt que"
        r"|convenu"
    ),
    left=(
        r"à faire|restent? à|il reste|pas encore|prochaine étape|en suspens|encore à"
        r"|manquent? encore|échouent? (?:encore|toujours)"
    ),
)  # fmt: skip
PORTUGUESE = Tongue(
    code="pt",
    marks=(
        "os um uma não eu meu minha meus minhas nosso nossa moro trabalho tenho sou muito mas"
        " porque como você vocês nunca sempre responda responde chame de na da dos das é"
        " são gosto adoro detesto ele ela que com para pra por há já antes agora está tá fica"
        " se chama escreva faz faça ao aos às quantas quanto quero vou respostas também oi"
        " chamo chama-se cão irmão faço anos filha filho num numa isto uso"
    ),
    i=r"(?:(?:eu|nós|a gente) )?",
    my=r"(?:[oa]s? )?(?:meus?|minhas?|noss[oa]s?)",
    a=r"(?:os?|as?|uma?|uns|umas|meus?|minhas?|noss[oa]s?|ao|do|da)",
    live=r"(?:moro|moramos|vivo|vivemos)",
    lived=r"(?:morava|morávamos|vivia|vivíamos|morei)",
    lives=r"(?:mora|vive)",
    into=r"(?:em|no|na|nos|nas)",
    work=r"(?:trabalho|trabalhamos)",
    worked=r"(?:trabalhava|trabalhávamos|trabalhei)",
    works=r"(?:trabalha)",
    at=r"(?:em|na|no|para|pra)",
    as_=r"(?:como|de)",
    am=r"(?:sou|somos|estou)",
    is_=r"(?:é|são|fica|está)",
    named=r"(?:(?:eu )?me chamo|chamo-me|(?:o )?meu nome é)",
    called=r"(?:se chamam?|chama-se|chamam-se|chamad[oa])",
    aged=r"(?:tenho|temos) (?P<value>\d{1,3}) anos",
    allergic=r"(?:alérgic[oa]s? (?:a|ao|à)|alergia a)",
    diets=r"(?:vegetarian[oa]s?|vegan[oa]s?|celíac[oa]s?)",
    jobs=(
        r"(?:médic[oa]|arquitet[oa]|advogad[oa]|chefe|estudante|dentista|\w+(?:ista|dor|dora|tor"
        r"|tora"
        r"|ssor|ssora|eir[oa]|ólog[oa]|ente|ógraf[oa]))(?: de [\w-]+)?"
    ),
    like=r"(?:gosto (?:muito )?d[eoa]s?|gostamos d[eoa]s?|adoro|adoramos|amo|prefiro)",
    likes=r"(?:gosta (?:muito )?d[eoa]s?|adora|ama|prefere)",
    dislike=r"(?:odeio|detesto|detestamos|não suporto)",
    dislikes=r"(?:odeia|detesta|não suporta)",
    have=r"(?:tenho|temos)",
    no=r"(?:já não|não|nunca)",
    after=r"(?:mais|nenhuma?)",
    ended=r"já não|mais",
    once=r"(?:antes|antigamente|dantes)",
    plan=r"(?:vou|vamos|quero|queremos|gostaria de|pretendo|planejo|tenciono)",
    move=r"\b(?:me mudo|mudo-me|nos mudamos) para (?P<value>[\w-]+)",
    moved=rf"\b(?:me mudei|mudei-me|mudei|nos mudamos|mudámo-nos) para {PLACE}",
    verbs={
        "uso": "usar", "usamos": "usar", "bebo": "beber", "como": "comer", "jogo": "jogar",
        "toco": "tocar", "falo": "falar", "estudo": "estudar", "aprendo": "aprender",
        "conduzo": "conduzir", "dirijo": "dirigir", "utilizo": "utilizar",
    },
    kin={
        "partner": "marido mulher esposa esposo namorado namorada parceiro parceira companheiro",
        "child": "filho filha filhos filhas bebê bebé",
        "parent": "mãe pai pais",
        "sibling": "irmão irmã irmãos irmãs",
        "pet": "cão cadela cachorro cachorra gato gata cavalo",
    },
    joins=r"e|mas|porque|nem|pois",
    cut=r"e|como|mas|porque|que|onde|desde|há|agora|com|quando|ou|nem|para|pois",
    doubt=(
        r"(?<!-)se(?! cham)|talvez|dizem que|me disseram|se calhar|imagina|poderia|morasse"
        r"|boatos?|supondo"
    ),
    asks=r"que|como|qual|quais|quant[oa]s?|onde|quem|quando|por que|porquê|pode|me ajuda|podes",
    polite=r"por favor|oi|olá|e|favor",
    order=(
        r"(?:respond|escrev|us[ae]|utiliz|fal[ae]|dá|dê|me (?:dê|dá|chame|trate|responda)|mant|evit"
        r"|põe|ponha|mostr|expliqu|explic|faz|faça|cham|trat|não \w+[aes]\b|marqu|cit)\w*"
    ),
    always=(
        r"sempre|nunca|jamais|a partir de agora|de agora em diante|daqui em diante|no futuro"
        r"|cada vez"
        r"|toda vez|por padrão|em geral|daqui para a frente"
    ),
    call=r"(?:me chame (?:de)?|me chama de|chame-me|chama-me|trata-me por|me trate)",
    this=r"est[ae]s?|ess[ae]s?|aqui|desta vez|seguintes?|acima|abaixo|o texto",
    settled=(
        r"vamos (?:usar|manter|ficar|trocar|mudar)|ficamos com|usaremos|decidido|decidimos|decidi"
        r"|em vez de|ao invés de|combinado|acordado|optamos por"
    ),
    left=(
        r"por fazer|pendentes?|faltam?|ainda (?:não|há|falha|falham|precisa)|próximo passo|restam?"
    ),
)  # fmt: skip
ITALIAN = Tongue(
    code="it",
    marks=(
        "il lo gli che di sono non per ho mio mia miei mie abito lavoro mi piace chiamo è una"
        " nostro nostra con ma anche perché cosa quanto sempre mai rispondi chiamami dammi poi"
        " d'ora usare scrivi si chiama prima più della del alla al nel uso abbiamo vorrei"
        " questo risposte per_favore grazie sto fa faccio anni mamma sul sulla dal nella dei"
        " degli adesso niente nonna abita"
        " gatto figlio"
    ),
    i=r"(?:(?:io|noi) )?",
    my=r"(?:(?:il|la|i|le) )?(?:mi[oae]|miei|nostr[oaie])",
    a=r"(?:il |lo |la |i |gli |le |l'|un |uno |una |un'|mi[oae] |del |della )",
    live=r"(?:abito|abitiamo|vivo|viviamo)",
    lived=r"(?:abitavo|abitavamo|vivevo|vivevamo)",
    lives=r"(?:abita|vive)",
    into=r"(?:a|ad|in|vicino a)",
    work=r"(?:lavoro|lavoriamo|sto lavorando)",
    worked=r"(?:lavoravo|lavoravamo)",
    works=r"(?:lavora)",
    at=r"(?:alla|al|all'|in|per|da|presso|a)",
    as_=r"(?:come|da)",
    am=r"(?:sono|siamo|faccio (?:il|la|lo|l'))",
    is_=r"(?:è|sono|si trova|fa)",
    named=r"(?:mi chiamo|il mio nome è)",
    called=r"(?:(?:che )?si chiama(?:no)?|di nome|chiamat[oa])",
    aged=r"ho (?P<value>\d{1,3}) anni",
    allergic=r"(?:allergic[oaihe]+ (?:a|al|alla|alle|ai|agli|all')|allergia a)",
    diets=r"(?:vegetarian[oaie]|vegan[oaie]|celiac[oaie]|celiachi)",
    jobs=(
        r"(?:medico|architett[oa]|avvocat[oa]|cuoc[oa]|studente|studentessa|ingegnere|dentista"
        r"|veterinari[oa]"
        r"|maestr[oa]|\w+(?:ista|tore|trice|iere|iera|ologo|ologa|aio|aia|essore|essoressa|grafo"
        r"|grafa|ante))"
    ),
    like=r"(?:mi piac(?:e|ciono)(?: molto| tanto)?|ci piac(?:e|ciono)|amo|adoro|preferisco)",
    likes=r"(?:(?:le|gli) piac(?:e|ciono)(?: molto| tanto)?|ama|adora|preferisce)",
    dislike=r"(?:odio|detesto|non sopporto)",
    dislikes=r"(?:odia|detesta|non sopporta)",
    have=r"(?:ho|abbiamo)",
    no=r"(?:non)",
    after=r"(?:più|mai|nessun[oa]?)",
    ended=r"più",
    once=r"(?:prima|una volta|in passato)",
    plan=(
        r"(?:vorrei|voglio|vogliamo|ho intenzione di|conto di|andrò a|penso di"
        r"|ho in programma di)"
    ),
    move=r"\b(?:mi trasferisco|ci trasferiamo) a (?P<value>[\w-]+)",
    moved=rf"\b(?:mi sono trasferit[oa]|ci siamo trasferit[ie]) a {PLACE}",
    verbs={
        "uso": "usare", "usiamo": "usare", "bevo": "bere", "mangio": "mangiare", "gioco": "giocare",
        "suono": "suonare", "parlo": "parlare", "studio": "studiare", "imparo": "imparare",
        "guido": "guidare", "utilizzo": "utilizzare",
    },
    kin={
        "partner": "marito moglie fidanzato fidanzata compagno compagna ragazzo ragazza",
        "child": "figlio figlia figli figlie bambino bambina",
        "parent": "madre padre mamma papà genitori",
        "sibling": "fratello sorella fratelli sorelle",
        "pet": "cane gatto gatta cagna cavallo cagnolino",
    },
    joins=r"e|ma|perché|però",
    cut=r"e|come|ma|perché|che|dove|da|però|con|quando|o|per|adesso|ora",
    doubt=(
        r"se|forse|dicono che|mi hanno detto|pare che|magari|immagina|potrebbe|vivessi|abitassi"
        r"|sembra che|voci"
    ),
    asks=r"che|come|qual[ei]?|quant[oaie]|dove|chi|quando|perché|puoi|mi aiuti|potresti|cosa",
    polite=r"per favore|ciao|e|grazie|ti prego",
    order=(
        r"(?:rispond|scriv|us[aia]|utilizz|parl|dammi|dimmi|fammi|mantien|evit|mett|mostr|spieg"
        r"|chiam"
        r"|non \w+re\b|tieni|dai|cit|prenot|smett|sii|niente)\w*"
    ),
    always=(
        r"sempre|mai|d'ora in poi|d'ora in avanti|da ora in poi|da adesso|in futuro|ogni volta"
        r"|di default|in generale"
    ),
    call=r"(?:chiamami|mi chiami|dammi del (?:tu|lei)|diamoci del tu|mi dia del)",
    this=r"quest[oaie]|qui|stavolta|seguent[ei]|sopra|sotto|il testo",
    settled=(
        r"usiamo|teniamo|passiamo a|restiamo|useremo|deciso|abbiamo scelto|invece di|al posto di"
        r"|concordato|optiamo per"
    ),
    left=(
        r"da fare|restano? da|ancora da|non ancora|mancano? ancora|manca|prossimo passo|in sospeso"
        r"|fallisce ancora|falliscono ancora"
    ),
)  # fmt: skip
ALL = (GERMAN, SPANISH, FRENCH, PORTUGUESE, ITALIAN)
# The topics of instructions, in all of these languages.
TOPICS: Mapping[str, str] = {
    "emojis": r"\w*[eé]mojis?|emoticon\w*|smileys?",
    "language": (
        r"englisch|deutsch|französisch|spanisch|italienisch|portugiesisch|inglés|español|francés"
        r"|alemán|catalán|italiano|portugués|anglais|français|allemand|espagnol|italien|portugais"
        r"|inglês|espanhol|francês|alemão|português|inglese|tedesco|francese|spagnolo|portoghese"
        r"|gallego|euskera|catalão|polnisch|russisch|ruso|russe|russo"
    ),
    "length": (
        r"kurz\w*|knapp\w*|lang|lange|ausführlich\w*|sätze\w*|cort[oa]s?|breves?|brevi"
        r"|larg[oa]s?|courte?s?"
        r"|longues?|curt[oa]s?|long[oa]s?|lungh[ei]|righe|líneas|lignes|linhas|palabras|mots"
        r"|parole|concis\w*"
    ),
    "tone": r"formal\w*|förmlich\w*|locker|direct[oa]|diretto|franc|ehrlich|informal\w*|ton|tono"
    r"|tom",
    "units": r"metrisch\w*|métric[oa]s?|métriques?|metric[hoie]+|celsius|fahrenheit",
    "layout": r"stichpunkt\w*|aufzählung\w*|viñetas|puces|marcadores|elenchi|listas|tabell\w*"
    r"|tablas",
    "booking": r"termine?n?|citas|reuniones|rendez-vous|réunions|reuniões|appuntamenti|riunioni"
    r"|meetings",
}  # fmt: skip
