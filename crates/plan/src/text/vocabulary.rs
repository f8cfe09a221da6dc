//! The words that prompts are made of: common English, arranged by part of speech.
//!
//! The lists hold base forms; [`super::lexicon`] adds plurals and verb forms. A word may stand in several
//! lists (`answer` is a noun and a verb), but only once in each.

/// Nouns that take a plural.
pub(super) const NOUNS: &str = "
    accident account acre actor address adult advantage adventure afternoon agency agent agreement airport alarm
    album alley ambition anchor angle animal ankle answer apartment apple application apron archive argument arm
    army arrangement arrival arrow article artist aspect assembly assistant attempt attic audience author autumn
    avenue award axis baby balance balcony ball banana band bank banner bargain barn barrel barrier base basket
    bath battery battle bay beach beam bean bear bed bell belt bench bicycle bill bird birthday blade blanket block
    blossom board boat bolt bone book border bottle bottom boulder boundary bow bowl box branch bread breeze brick
    bridge broom brother bucket budget builder building bulb bundle bus bush business butterfly button cabin cabinet
    cable cake calendar camera camp canal candle canyon captain car card career carpet carriage cart case castle cat
    catalog ceiling celebration cell center century ceremony chain chair challenge champion chance channel chapel
    chapter character charge chart cheese cherry chest chicken chief child chimney choice choir church circle
    circuit citizen city claim class clerk client cliff climate clock cloth cloud club coach coast coat code coin
    collar colleague collection college colony color column comment committee community companion company compass
    competition complaint computer concept concert conclusion condition conference connection container contest
    contract conversation cook copy corner corridor cottage council counter country county couple course court
    cousin cover cow craft crane creature crew critic crop crossing crowd crown culture cup curtain curve customer
    cycle dam dance danger date daughter day deal debate debt decade decision deck deer delay delegate delivery
    demand department deposit depth desert design desk detail device diagram diary difference dinner direction
    director discovery dish display distance district doctor document dog dollar door dozen draft drawer drawing
    dream dress driver drop drum duck duty eagle ear edge edition editor effect effort egg election element elephant
    employee employer encounter enemy engine engineer entrance entry envelope episode era error essay estate
    estimate evening event example exchange exhibit expert explanation eye fabric face factor factory failure fair
    family farm farmer father fault favor feather feature fee fellow fence ferry festival field fight figure file
    film finger fire fireplace fish flag flame flight flock floor flower flute folder foot force forest fork form
    formula fort fortune foundation fountain fox fraction frame freighter friend frog front frontier fruit function
    funnel furnace gallery game gap garage garden gardener gate generation giant gift girl glacier glass glove goal
    goat governor grain grandfather grandmother grant graph grave grocer group grove guard guess guest guide guitar
    gulf habit hall hammer hand handle harbor harvest hat hawk head headline heart hedge height helmet hen hero
    highway hill hint historian hole holiday home hook horizon horn horse hospital host hotel hour house household
    hunter hut idea image impression inch incident income index industry inn insect inspector institute instrument
    interest interval interview invention invitation island issue item jacket jar jewel job joke journal journey
    judge jug jungle jury kettle key king kitchen kite knee knife knight knot label laboratory ladder lady lake lamp
    lane language lantern lawn lawyer layer leader leaf league lecture leg lemon lesson letter level lever library
    license lid limit line lion lip list loan lobby location lock log loop lord loss machine magazine magnet
    manager manner manual map marble march margin mark market marsh mask master match material matter meadow meal
    measure mechanic medal meeting melody member memory merchant message metal meter method mile mill miner minister
    minute mirror mission mistake model moment monitor monument mood moon morning mother motion motor mountain mouse
    mouth movement mule museum musician mystery nail name nation neck needle neighbor nest network newspaper night
    noise note notebook notice novel number nurse oar object obstacle occasion ocean offer office officer onion
    opening opera operation opinion opportunity orange orbit orchard orchestra order organ origin outcome outline
    oven owl owner package page paint painter painting pair palace panel paper parade paragraph parcel parent park
    part partner party passage passenger passport patch path patient pattern pause payment pearl pen pencil
    performance period permit person phase phone photograph phrase piano picture piece pier pig pillar pillow pilot
    pioneer pipe pitch place plain plan planet plant plate platform player plaza pocket poem poet point pole policy
    pond pool porch port portion portrait position post pot potato practice prairie prize problem procedure process
    product profession professor profit program project promise proof proposal province pump pupil purpose puzzle
    quality quarrel quarry quarter queen question rabbit race radio raft rail railway range ranch rank rate reader
    reason receipt recipe record reform region relative remark repair report request reservoir resident resort
    resource response restaurant result reward rhythm ribbon ridge ring river road robot rock role roof room root
    rope rose route row ruler rumor sail sailor sale salesman sample scale scene schedule scheme scholar school
    scientist score screen screw sculptor season seat secret secretary section sector seed segment sentence series
    servant service session shadow shape share sheep shelf shell shelter shepherd shield ship shirt shock shoe shop
    shore shoulder shovel shower side sign signal singer sister site situation sketch skill sky slope smile snake
    society sofa soldier solution son song sound source space spark speaker species speech spider spoon spot spring
    square squirrel stable stage stair stamp standard star state statement station statue step stick stone storm
    story stove stranger stream street strike string structure student studio study style subject suburb suggestion
    suit summer summit supper surface surgeon surprise survey swamp switch symbol symptom system table tailor talent
    tale tank task taxi teacher team technique telescope temple tenant tent term terrace territory test text theater
    theory thing thought thread throat throne ticket tide tiger title tool tooth topic torch total tour tourist
    towel tower town toy track trade tradition trail train traveler treasure treaty tree trend trial triangle tribe
    trip troop truck trumpet trunk tube tune tunnel turn turtle type uncle union unit university valley value
    variety vase vehicle version vessel victory video view villa village violin visit visitor voice volume voyage
    wagon waiter wall warehouse watch wave way weapon weaver wedding week weekend weight well whale wheel whistle
    widow wife wind window wing winner winter wire witness wolf woman wonder word worker workshop world worm wound
    wreck writer yard year zone
";

/// Nouns without a plural.
pub(super) const MASS_NOUNS: &str = "
    advice air attention baggage beauty behavior bravery butter caution chalk charcoal clay clothing coal coffee
    comfort confidence copper corn cotton courage cream curiosity darkness dirt dust education electricity energy
    equipment evidence flour fog food freedom fuel fun furniture glue gold grass gravel happiness harmony hay health
    heat help history honesty honey ice information iron justice kindness knowledge laughter leather lightning
    linen logic luck luggage lumber machinery milk money moss mud music oil patience peace pepper permission
    poetry pottery pride progress rain research rice safety salt sand silence silk silver smoke snow soap soil
    steam steel sugar sunlight tea thunder timber time traffic transport trust truth velvet warmth water wealth
    weather wheat wisdom wood wool work
";

/// Verbs that take an object and form their past with `-ed`.
pub(super) const TRANSITIVE: &str = "
    abandon accept accompany admire admit adopt advise announce anticipate apply approach approve arrange ask
    assemble attach attract avoid bake blame borrow calculate capture carry celebrate challenge change check clean
    climb close collect compare complete conceal confirm connect consider construct consult contain convince copy
    correct count cover create criticize cross decorate defend deliver demand describe deserve design destroy
    discover discuss display divide drag earn educate employ enjoy enter escort establish estimate examine exchange
    expect explain explore express extend favor fill finish fix follow force gather greet guard guide handle
    help identify ignore illustrate imagine improve include indicate influence inherit inspect install invent
    invite join judge kick label launch learn lift limit list load lock lower maintain manage mark measure melt
    mention move name need notice obey observe obtain offer open order organize overlook own pack paint
    pass perform persuade plan plant polish praise prefer prepare preserve prevent print produce promise protect
    prove publish pull purchase push question reach receive recognize recommend record reduce refuse reject release
    remember remove rent repair repeat replace report request rescue respect restore reveal review reward ruin
    sail save scatter select separate serve share shelter sign sketch solve spread store study suggest supply support
    surprise surround suspect taste test thank touch trace trade train transfer translate transport trust
    twist unlock unpack use value visit warn wash watch weigh welcome wrap
";

/// Verbs that stand without an object and form their past with `-ed`.
pub(super) const INTRANSITIVE: &str = "
    agree appear argue arrive awake bark bloom blush bow breathe collapse complain continue cough crawl cry dance
    decline descend develop differ disappear dive drift drop echo emerge escape expand fade fail faint float flow
    flourish gallop gaze giggle glow grumble hesitate hurry improve increase jump kneel knock land laugh lean
    linger listen march matter mumble nod object pause play pray proceed quarrel react recover rejoice relax
    remain resign rest retire return roam roll rush shiver shout sigh slip smile sneeze stare start stay stumble
    succeed suffer surrender talk travel tremble vanish vote wait walk wander whisper whistle work worry yawn
";

/// Verbs with forms of their own: `base past participle gerund`, with an object.
pub(super) const IRREGULAR_TRANSITIVE: &str = "
    bend/bent/bent bind/bound/bound break/broke/broken bring/brought/brought build/built/built buy/bought/bought
    catch/caught/caught choose/chose/chosen cut/cut/cut draw/drew/drawn drink/drank/drunk drive/drove/driven
    eat/ate/eaten feed/fed/fed feel/felt/felt find/found/found forget/forgot/forgotten forgive/forgave/forgiven
    freeze/froze/frozen give/gave/given hear/heard/heard hide/hid/hidden hold/held/held keep/kept/kept
    know/knew/known lead/led/led leave/left/left lend/lent/lent light/lit/lit lose/lost/lost make/made/made
    meet/met/met overcome/overcame/overcome pay/paid/paid put/put/put read/read/read ride/rode/ridden
    ring/rang/rung see/saw/seen seek/sought/sought sell/sold/sold send/sent/sent sew/sewed/sewn shake/shook/shaken
    show/showed/shown shut/shut/shut sing/sang/sung spend/spent/spent steal/stole/stolen strike/struck/struck
    sweep/swept/swept take/took/taken teach/taught/taught tear/tore/torn tell/told/told throw/threw/thrown
    understand/understood/understood wear/wore/worn weave/wove/woven win/won/won write/wrote/written
";

/// Verbs with forms of their own, without an object.
pub(super) const IRREGULAR_INTRANSITIVE: &str = "
    begin/began/begun come/came/come fall/fell/fallen fight/fought/fought fly/flew/flown go/went/gone
    grow/grew/grown rise/rose/risen run/ran/run shine/shone/shone sink/sank/sunk sit/sat/sat sleep/slept/slept
    speak/spoke/spoken spin/spun/spun stand/stood/stood swim/swam/swum swing/swung/swung wake/woke/woken
    weep/wept/wept
";

/// Adjectives.
pub(super) const ADJECTIVES: &str = "
    able absent abstract active actual afraid alert ambitious amusing ancient angry annual anxious apparent
    attractive available average aware awkward bare basic beautiful better big bitter black bland blind blue bold
    brave brief bright brilliant broad broken brown busy calm capable careful careless casual cautious central
    certain charming cheap cheerful chief civil classic clean clear clever close clumsy coarse cold colorful comfortable
    common complete complex confident constant convenient cool correct crazy creative crisp crooked crowded cruel
    curious current curved damp dangerous dark dear decent deep delicate delicious dense desperate different difficult
    dim direct distant distinct double dramatic dry dull eager early easy elaborate elder electric elegant empty
    enormous entire equal essential eternal exact excellent exciting exotic expensive experienced extra faint fair
    faithful false familiar famous fancy fatal fertile final fine firm flat flexible foreign formal former fortunate
    fragile free frequent fresh friendly frozen full funny future general generous gentle genuine glad global
    golden good grand grateful gray great green happy hard harmless harsh healthy heavy hidden high hollow honest
    hopeful hostile hot huge human humble hungry ideal idle immense imperfect important impressive independent
    inner innocent intense internal jealous joint joyful junior keen large late lazy lean legal light
    likely little lively local lonely long loose loud lovely low loyal lucky magnetic main major marvelous mature
    mean medical mild minor mobile modern modest moral mutual mysterious narrow native natural nearby neat nervous
    new nice noble noisy normal northern notable obvious odd official old open opposite ordinary original outer
    pale parallel particular patient peaceful peculiar perfect permanent pink plain pleasant polite political poor
    popular portable positive possible powerful practical precious precise pretty previous primary private probable
    proper proud public pure purple quick quiet rapid rare raw ready real reasonable recent red regular
    reliable remarkable remote responsible rich ripe rival rough round royal rude rural rusty sad safe
    satisfied scarce scientific secure senior sensible separate serious severe shallow sharp short shy silent
    similar simple sincere single skillful sleepy slender slight slow small smart smooth soft solid southern
    spare special splendid stable steady steep stiff strange strict strong stubborn sudden suitable sunny superb
    sure sweet swift tall tame temporary tender terrible thick thin thorough tidy tight tiny tired
    tough traditional tropical true typical ugly uncertain uneven unique universal unusual upper urban urgent useful
    usual vacant vague valuable vast vertical violent visible vivid warm wary weak weary western wet white whole
    wicked wide wild willing wise wonderful wooden worthy wrong yellow young
";

/// Adverbs of manner.
pub(super) const ADVERBS: &str = "
    abruptly accurately alone anxiously awkwardly badly beautifully blindly boldly bravely briefly brightly briskly
    calmly carefully carelessly casually cautiously cheerfully clearly cleverly closely clumsily coldly correctly
    curiously deeply deliberately delicately directly eagerly early easily elegantly evenly exactly faithfully
    fiercely finally firmly foolishly formally freely frequently fully generously gently gladly gracefully gradually
    greatly happily hastily heavily honestly hopefully immediately independently instantly intently joyfully keenly
    kindly lately lazily lightly loosely loudly merrily mildly modestly naturally neatly nervously nicely nobly
    openly partly patiently perfectly playfully politely poorly promptly properly proudly publicly quickly quietly
    rapidly rarely readily regularly reluctantly roughly rudely sadly safely secretly seriously sharply silently
    simply slowly smoothly softly soundly steadily sternly strictly strongly stubbornly suddenly swiftly tenderly
    thoroughly tightly together twice vaguely warmly weakly wearily well widely wildly willingly wisely
";

/// Adverbs and phrases that open a sentence; a phrase is joined with `_`.
pub(super) const OPENERS: &str = "
    afterwards again eventually evidently fortunately furthermore gradually however indeed instead later likewise
    meanwhile moreover naturally nevertheless nonetheless obviously occasionally once otherwise perhaps presently
    still surely then therefore today tomorrow tonight unexpectedly unfortunately usually yesterday as_usual
    at_dawn at_first at_last at_midnight at_noon before_long by_then for_example in_fact in_short in_spring
    in_theory in_time in_turn long_ago of_course on_average on_reflection soon_enough that_evening to_be_fair
    years_later
";

/// Prepositions of place and time.
pub(super) const PREPOSITIONS: &str = "
    about above across after against along among around at before behind below beneath beside between beyond by
    despite during for from in inside into near on onto opposite outside over past through toward under
    until upon with within without
";

/// Determiners before a singular noun.
pub(super) const DETERMINERS: &str = "
    the the the the a a a this that every each another one her his our their my your some any no
";

/// Determiners before a plural noun.
pub(super) const PLURAL_DETERMINERS: &str = "
    the the the these those many several few most all both two three four five six seven eight nine ten eleven
    twelve fifteen twenty thirty forty fifty sixty her his our their my your some no
";

/// Conjunctions that open a dependent clause.
pub(super) const SUBORDINATORS: &str = "
    after although as because before if once since though unless until when whenever where while whereas
";

/// Conjunctions between two clauses.
pub(super) const COORDINATORS: &str = "and and and but but or so yet";

/// Verbs that a person says something with, in the past.
pub(super) const SPEECH: &str = "
    added admitted announced answered argued asked called complained confessed cried declared explained guessed
    insisted joked muttered objected promised remarked repeated replied said shouted sighed suggested told_us
    warned whispered wrote
";

/// Verbs before a clause with `that`.
pub(super) const OPINION: &str = "
    admitted agreed announced argued assumed believed claimed concluded confirmed decided denied discovered doubted
    explained feared felt found guessed heard hoped imagined insisted knew learned noticed predicted pretended
    promised proved realized remarked remembered reported saw said showed stated suggested suspected swore thought
    understood wrote
";

/// Auxiliaries before a base form.
pub(super) const MODALS: &str = "can could did may might must should will would cannot";

/// Given names.
pub(super) const NAMES: &str = "
    Adam Alice Amir Anna Anton Bella Boris Carla Carmen Cecil Clara Daniel David Diana Edith Elena Emma Eric
    Felix Fiona Frank George Grace Hannah Harold Helen Henry Hugo Ida Igor Irene Isaac Jack James Jane Joan
    Karen Kevin Laura Leo Lily Louis Lucy Marco Maria Martin Max Mei Mina Nadia Nina Noah Nora Oliver Omar Oscar
    Paula Peter Priya Ravi Rosa Ruth Samuel Sara Simon Sofia Thomas Tina Victor Vera Walter Yuki
";

/// Places.
pub(super) const PLACES: &str = "
    Africa Amsterdam Athens Australia Austria Berlin Boston Brazil Cairo Canada Chicago Chile China Copenhagen
    Cuba Denver Dublin Egypt England Europe Finland Florence France Geneva Greece Hamburg Iceland India Ireland
    Italy Japan Kenya Lisbon London Madrid Mexico Milan Morocco Moscow Naples Norway Oslo Oxford Paris Peru Poland
    Portugal Prague Rome Scotland Spain Stockholm Sweden Texas Tokyo Turkey Venice Vienna Warsaw
";

/// Whole words of the closed classes that the grammar writes itself.
pub(super) const PARTICLES: &str = "
    a an the and or but nor neither either not than that which who whose what why how where when there here it he she
    they we I you was were is are had has have been be by of to as so such too very rather quite almost never
    always often seldom only even just more less most least do does did if because
";
