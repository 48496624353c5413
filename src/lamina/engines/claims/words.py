"""Words that the rules look for: people, animals, work, food, states, and verbs. Pure."""

from __future__ import annotations

import re


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def either(words: frozenset[str] | str) -> str:
    """Return a pattern for any of the words, the longest first; an underscore means a space."""
    listed = words.split() if isinstance(words, str) else words
    escaped = (re.escape(word).replace("_", " ") for word in listed)
    return f"(?:{'|'.join(sorted(escaped, key=lambda word: (-len(word), word)))})"


# --- people ---
KIN: dict[str, frozenset[str]] = {
    "partner": _set(
        "wife husband girlfriend boyfriend partner fiance fiancé fiancee fiancée spouse hubby wifey"
        " missus gf bf"
    ),
    "child": _set(
        "son daughter kid kids child children sons daughters baby toddler newborn stepson"
        " stepdaughter twins boys girls"
    ),
    "parent": _set(
        "mother father mom mum dad mommy mummy daddy parents stepmother stepfather stepmom stepdad"
        " mama papa folks"
    ),
    "sibling": _set(
        "sister brother sisters brothers siblings twin stepsister stepbrother half-sister"
        " half-brother sis bro"
    ),
    "relative": _set(
        "grandma grandmother grandpa grandfather granny gran nan grandad granddad grandparents"
        " grandson granddaughter grandchildren grandkids aunt uncle auntie cousin cousins niece"
        " nephew nieces nephews in-laws mother-in-law father-in-law sister-in-law brother-in-law"
        " son-in-law daughter-in-law godmother godfather goddaughter godson abuela abuelo oma opa"
        " nonna nonno nana pop-pop"
    ),
    "friend": _set("friend buddy bestie pal mate bff friends roommate flatmate housemate"),
    "colleague": _set(
        "colleague coworker co-worker teammate workmate colleagues coworkers co-workers teammates"
    ),
}
# Acquaintances, whose mention alone makes no claim.
ACQUAINTED = _set(
    "neighbour neighbor neighbours neighbors coach teacher doctor dentist landlord ex therapist"
    " tutor mentor client boss manager"
)
FEMALE = _set(
    "wife girlfriend fiancee fiancée wifey missus gf daughter stepdaughter mother mom mum mommy"
    " mummy stepmother stepmom mama sister stepsister half-sister sis grandma grandmother granny"
    " gran nan granddaughter aunt auntie niece mother-in-law sister-in-law daughter-in-law"
    " godmother goddaughter girl woman lady"
)
MALE = _set(
    "husband boyfriend hubby bf son stepson father dad daddy stepfather stepdad papa brother"
    " stepbrother half-brother bro grandpa grandfather grandad granddad grandson uncle nephew"
    " father-in-law brother-in-law son-in-law godfather godson boy man guy dude"
)
PLURAL = _set(
    "kids children sons daughters twins boys girls parents folks sisters brothers siblings"
    " grandparents grandchildren grandkids cousins nieces nephews in-laws friends colleagues"
    " coworkers co-workers teammates neighbours neighbors"
)

# "No ..." with one of these means none of the kind at all.
ANY = _set("kids children child kid siblings partner pets pet animals friends parents")

NUMBERS = _set(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)

# --- animals ---
ANIMALS = _set(
    "dog puppy pup cat kitten kitty horse pony hamster rabbit bunny parrot budgie canary bird fish"
    " goldfish turtle tortoise snake lizard gecko hedgehog ferret chicken hen duck goat sheep pig"
    " cow donkey alpaca llama spaniel labrador retriever poodle terrier beagle bulldog greyhound"
    " whippet corgi dachshund collie german_shepherd husky pug chihuahua rottweiler doberman mutt"
    " lab doodle dogs cats puppies pups kittens horses rabbits bunnies hens chickens turtles"
    " guinea_pig guinea_pigs parrots hamsters snakes ducks goats ponies birds pet pets tabby"
    " siamese budgies gerbil gerbils chinchilla rescue_dog axolotl iguana chameleon cockatiel macaw"
    " lovebird parakeet tarantula piglet foal calf lamb goldendoodle labradoodle cockapoo maltese"
    " shih_tzu border_collie great_dane bernese maine_coon ragdoll calico"
)

POSSESSIONS = _set(
    "car truck van bike bicycle motorbike motorcycle scooter boat caravan camper campervan house"
    " flat apartment condo cottage cabin farm garden allotment phone iphone smartphone laptop"
    " computer pc mac tablet ipad kindle camera drone tv console printer watch smartwatch guitar"
    " piano violin cello drum_kit keyboard ukulele flute saxophone telescope tent kayak canoe"
    " surfboard skateboard snowboard skis sewing_machine pottery_wheel easel bookshelf bookcase"
    " library collection treadmill greenhouse workshop studio store shop business company"
    " restaurant cafe bakery website blog podcast channel necklace ring bracelet tattoo sofa couch"
    " desk bed fridge oven air_fryer coffee_machine espresso_machine grill barbecue bbq pool"
    " hot_tub sauna dishwasher mug bowl plant plants suv sedan pickup_truck motorhome yacht"
    " sailboat tractor trailer e-bike mountain_bike road_bike helmet wheelchair stroller armchair"
    " recliner bookshelves wardrobe dresser lamp chandelier rug mattress quilt blanket mirror"
    " painting portrait poster sculpture vase clock record_player turntable vinyl speaker speakers"
    " headphones earbuds microphone amp amplifier synthesizer banjo mandolin harmonica trumpet"
    " clarinet drums drone lens tripod projector monitor router gaming_pc playstation xbox"
    " nintendo_switch vr_headset controller e-reader journal diary notebook planner backpack"
    " suitcase purse handbag wallet watch earrings pendant brooch dress suit jacket coat boots"
    " sneakers shoes hoodie sweater scarf hat jersey uniform fishing_rod golf_clubs tennis_racket"
    " binoculars microscope sword knife_set wok mixer blender slow_cooker instant_pot bread_machine"
    " waffle_maker kettle teapot smoker lawnmower chainsaw drill toolbox workbench sewing_kit loom"
    " kiln lathe 3d_printer aquarium fish_tank terrarium beehive hives chicken_coop orchard"
    " vineyard timeshare gym salon gallery bookstore bookshop food_truck startup agency etsy_shop"
    " online_store patent trophy medal certificate figurine puzzle doll teddy_bear comic"
)

RELATION = {
    word: attribute for attribute, words in (*KIN.items(), ("pet", ANIMALS)) for word in words
}

# --- who a person is ---
DIETS = _set(
    "vegan vegetarian pescatarian pescetarian flexitarian omnivore carnivore veggie keto paleo"
    " gluten-free dairy-free lactose-free kosher halal plant-based vegans vegetarians sugar-free"
    " low-carb raw-vegan meat-eater meat_eater gluten_free dairy_free"
)
STATUSES = _set("single married engaged divorced widowed separated")
STATES = STATUSES | _set(
    "laid let made hired fired sacked promoted rid mentored accepted invited noticed hurt"
)
RELIGIONS = _set(
    "catholic protestant muslim jewish hindu buddhist sikh atheist agnostic christian mormon"
    " orthodox quaker lutheran anglican methodist baptist presbyterian evangelical pagan taoist"
)
GENDERS = _set(
    "transgender trans nonbinary non-binary genderfluid genderqueer agender cisgender trans_woman"
    " trans_man transgender_woman transgender_man"
)
NATIONS = _set(
    "american british english scottish irish welsh canadian australian french german italian"
    " spanish portuguese dutch belgian swiss austrian swedish norwegian danish finnish icelandic"
    " polish czech slovak hungarian romanian bulgarian greek turkish russian ukrainian croatian"
    " serbian slovenian estonian latvian lithuanian indian pakistani bangladeshi nepalese chinese"
    " japanese korean vietnamese thai filipino indonesian malaysian singaporean taiwanese mongolian"
    " iranian persian iraqi israeli lebanese syrian egyptian moroccan algerian tunisian nigerian"
    " ghanaian kenyan ethiopian mexican brazilian argentinian argentine chilean colombian peruvian"
    " venezuelan cuban jamaican"
)
LANGUAGES = _set(
    "english spanish french german italian portuguese dutch swedish norwegian danish finnish"
    " icelandic polish czech slovak hungarian romanian bulgarian greek turkish russian ukrainian"
    " croatian serbian arabic hebrew persian farsi hindi urdu bengali punjabi tamil telugu chinese"
    " mandarin cantonese japanese korean vietnamese thai tagalog indonesian malay swahili yoruba"
    " igbo amharic welsh irish gaelic catalan basque latin esperanto bsl asl sign_language"
)
CONDITIONS = _set(
    "asthma diabetes migraine migraines arthritis epilepsy anemia anaemia eczema psoriasis"
    " hypertension insomnia depression anxiety adhd autism cancer dementia celiac coeliac crohn's"
    " ibs endometriosis fibromyalgia hypothyroidism sciatica tinnitus vertigo pneumonia bronchitis"
    " covid flu shingles gastritis pcos scoliosis tendonitis tendinitis concussion sinusitis"
    " osteoporosis hayfever hay_fever high_blood_pressure low_blood_pressure back_pain knee_pain"
    " back_problems bad_back bad_knee sleep_apnea acid_reflux long_covid stress_fracture"
    " sprained_ankle slipped_disc broken_arm broken_leg broken_ankle broken_wrist broken_foot"
    " dyslexia ptsd ocd lupus gout reflux allergies hay-fever nosebleeds headaches adhd"
    " bipolar_disorder panic_attacks celiac_disease coeliac_disease crohn's_disease parkinson's"
    " alzheimer's multiple_sclerosis glaucoma cataracts carpal_tunnel plantar_fasciitis"
    " shin_splints tennis_elbow rosacea acne vitiligo anaphylaxis high_cholesterol heart_condition"
    " heart_disease heart_murmur kidney_stones gallstones appendicitis hernia ulcer ulcers"
    " food_poisoning strep_throat tonsillitis chickenpox measles mono lyme_disease malaria stroke"
    " seizure seizures bad_shoulder bad_hip sore_throat fever bad_cold nasty_cold head_cold"
    " mental_health health_issues health_problems burnout injury surgery chronic_pain heart_attack"
    " operation"
)
BODY = _set(
    "arm leg ankle wrist foot knee shoulder elbow hip back neck hand finger toe rib nose collarbone"
    " hamstring acl achilles thumb tooth teeth skull spine tendon ligament calf heel groin jaw"
    " meniscus bicep tricep quad shin pelvis eardrum cornea retina disc vertebra nerve muscle"
    " forearm cheekbone kneecap"
)
JOBS = _set(
    "nurse doctor teacher engineer lawyer solicitor barrister banker pilot dentist librarian"
    " electrician plumber carpenter barista waiter waitress chef cook baker butcher farmer gardener"
    " florist beekeeper paramedic midwife vet physio surgeon gp pharmacist developer programmer"
    " designer architect builder joiner mechanic driver courier postman postwoman fireman"
    " firefighter policeman policewoman cop detective soldier sailor officer accountant auditor"
    " analyst consultant economist statistician scientist physicist chemist biologist geologist"
    " historian researcher professor lecturer tutor student intern apprentice trainee freelancer"
    " contractor entrepreneur founder ceo cto cfo coo director manager supervisor administrator"
    " secretary receptionist assistant clerk cashier salesman saleswoman salesperson rep realtor"
    " broker trader translator interpreter journalist reporter editor writer author novelist poet"
    " screenwriter copywriter blogger vlogger photographer filmmaker producer actor actress"
    " musician singer drummer guitarist pianist dj composer dancer choreographer artist painter"
    " sculptor illustrator potter animator model hairdresser barber beautician stylist tailor"
    " cobbler cleaner janitor caretaker caregiver carer nanny babysitter counselor counsellor"
    " therapist psychologist psychiatrist coach trainer referee athlete footballer goalkeeper judge"
    " mayor politician councillor diplomat priest pastor vicar monk nun imam rabbi plasterer welder"
    " roofer bricklayer glazier decorator surveyor estate_agent social_worker data_scientist"
    " civil_servant shop_assistant stay-at-home_mom stay-at-home_dad stay-at-home_mum housewife"
    " househusband homemaker retiree pensioner bartender barman barmaid bouncer butler usher"
    " archivist curator conductor steward stewardess flight_attendant lifeguard fisherman fisher"
    " miner lumberjack logger ranger zookeeper brewer vintner winemaker sommelier optician"
    " optometrist radiographer radiologist anaesthetist cardiologist dermatologist pediatrician"
    " paediatrician neurologist oncologist sysadmin technician locksmith jeweller jeweler"
    " watchmaker upholsterer hotelier landlord landlady publican recruiter headhunter lobbyist"
    " activist youtuber streamer influencer podcaster principal headteacher headmaster undertaker"
    " undergraduate postgraduate freelance copy_editor sous-chef truck_driver bus_driver"
    " taxi_driver train_driver software_engineer web_developer product_manager project_manager"
    " signwriter translator"
)
# Words that look like jobs but are not.
NO_JOB = _set(
    "mother father brother sister daughter stranger member lover number matter winner believer"
    " dreamer newcomer loser supporter listener thinker beginner starter owner player gamer"
    " follower fighter survivor sucker foodie minor major senior junior factor visitor disaster"
    " monster loner leader helper learner mentor customer user newbie gardener_at_heart volunteer"
    " runner reader walker hiker swimmer sleeper eater drinker smoker talker planner worrier person"
    " parent participant patient adult agent_of wanderer tinker hater keeper shopper camper"
    " neighbour neighbor outsider insider teenager youngster latecomer wonder reminder bother"
    " letter water dinner corner summer winter sister-in-law quitter procrastinator perfectionist"
    " optimist pessimist realist romantic minimalist feminist client student_of sinner sitter"
    " killer bummer bachelor bit fan"
)
JOB_ENDING = re.compile(
    r"(?:(?<![aeiou])er|eer|ator|itor|ctor|ist|ician|man|woman|wright|smith|keeper|master)\Z"
)

# --- what is done for pleasure ---
PLAYED = _set(
    "tennis football soccer basketball baseball softball golf volleyball rugby cricket hockey"
    " badminton squash netball lacrosse handball padel pickleball polo bowls darts pool snooker"
    " billiards chess checkers go bridge poker scrabble backgammon mahjong cards dominoes"
    " video_games video_game videogames board_games board_game computer_games d&d dungeons"
    " minecraft fortnite guitar piano violin viola cello drums flute clarinet saxophone sax trumpet"
    " trombone tuba ukulele bass harp accordion keyboard keyboards banjo mandolin harmonica oboe"
    " bassoon organ percussion bagpipes recorder sitar fiddle synth music"
)
ACTIVITIES = _set(
    "yoga pilates karate judo taekwondo aikido jiu-jitsu boxing kickboxing wrestling fencing"
    " archery ballet salsa tango zumba crossfit gymnastics martial_arts athletics parkour ceramics"
    " pottery origami calligraphy embroidery macrame crochet needlework woodwork woodworking"
    " carpentry metalwork leatherwork improv stand-up photography astronomy genealogy magic karaoke"
    " hiking running swimming climbing camping fishing surfing skiing cycling jogging dancing"
    " bouldering sailing kayaking canoeing rowing paddleboarding biking birdwatching birding"
    " skating skateboarding snowboarding horse-riding horseback bowling diving snorkeling"
    " backpacking trekking geocaching stargazing foraging hunting gardening beekeeping cooking"
    " baking brewing knitting sewing quilting painting drawing sketching sculpting journaling"
    " blogging writing reading gaming meditating meditation singing acting weightlifting"
    " powerlifting bodybuilding stretching cardio tai_chi spinning weaving scrapbooking"
)
# Nouns that name an attribute: "my hometown is Graz", "baking is my passion".
ROLES = {
    role.replace("_", " "): attribute
    for attribute, roles in {
        "name": "name full_name surname",
        "nickname": "nickname",
        "birthday": "birthday",
        "age": "age",
        "religion": "religion faith",
        "origin": "hometown home_town home_country home_city birthplace native_country"
        " country_of_origin",
        "lives_in": "home address",
        "job": "job profession occupation day_job career",
        "employer": "employer",
        "studies": "major degree subject field_of_study",
        "language": "mother_tongue first_language native_language second_language",
        "diet": "diet",
        "hobby": "hobby hobbies pastime pastimes",
        "likes": "passion passions love true_love first_love interest interests obsession weakness"
        " guilty_pleasure go-to jam happy_place escape outlet therapy stress_relief stress_reliever"
        " comfort_food thing cup_of_tea everything life top_pick number_one favourites favorites"
        " faves favourite favorite fave fav second_nature muse lifeline",
        "goal": "goal goals dream dreams ambition aim mission resolution",
        "plan": "plan plans",
    }.items()
    for role in roles.split()
}

# --- verbs ---
# Events worth a claim with any object: the past, and the participle where it differs.
DEEDS = _set(
    "attended visited joined graduated adopted bought sold painted wrote written published launched"
    " opened hosted organized organised performed presented competed participated volunteered"
    " traveled travelled hiked camped climbed explored celebrated finished completed built designed"
    " baked planted donated enrolled registered applied quit retired met mentored interviewed"
    " earned underwent undergone rehearsed recorded released renovated redecorated inherited signed"
    " toured hosted fostered rescued ran swam biked cycled surfed skied kayaked sailed flew flown"
    " drove driven danced sang sung knitted sewed crocheted carved photographed filmed coached"
    " taught directed starred debuted auditioned scored beat placed ranked qualified won lost"
    " injured sprained fractured broke broken recovered tore torn proposed married divorced moved"
    " relocated emigrated migrated cooked grilled roasted brewed picked purchased ordered booked"
    " repaired fixed installed upgraded crashed passed submitted delivered pitched expanded hired"
    " promoted collaborated partnered teamed received raised collected gathered harvested created"
    " developed started began begun learned learnt discovered tried watched read played practiced"
    " practised trained studied researched took taken went gone did done made saw seen gave given"
    " got gotten spent threw thrown held led caught brought set put posted shared helped supported"
    " invited took_part hung checked stopped ended lived worked survived woke kicked found drew"
    " drawn ate eaten spoke spoken sent chose chosen retook fed lent adopted trekked wandered shot"
    " cleaned tidied wed eloped reunited rode ridden fell fallen came bit bitten blew blown built"
    " burnt dug dove drank drunk fought fled froze frozen grew hid hidden hit laid lit overcame"
    " paid rang shook sank sewn slid spilled spun stole stolen struck swept swung wore worn wove"
    " woven wound split shut stuck burned dropped slipped failed cracked attained achieved reached"
    " nailed aced babysat rebuilt rewrote rewritten redid withdrew undertook"
)
# Verbs that tell enough without an object.
ALONE = _set(
    "graduated retired hiked swam camped danced skied surfed kayaked sailed cycled biked"
    " volunteered moved relocated emigrated married divorced proposed recovered won quit rehearsed"
    " performed auditioned competed enrolled qualified eloped wed volunteering promoted hurt"
    " injured hired fired engaged"
)
# Verbs that tell little without an object.
LIGHT = _set(
    "got gotten made took taken went gone did done saw seen gave given had tried started began"
    " begun set put brought held led shared helped supported checked stopped ended came read"
    " watched played spent caught threw thrown learned learnt discovered passed lost fell fallen"
    " raised received invited moved worked lived picked hung broke broken shot ran beat read kicked"
    " woke placed delivered developed sang sung created found drew drawn ate eaten spoke spoken"
    " sent chose chosen fed lent left hit laid lit shut shook wore worn grew drank drunk slipped"
    " dropped reached stuck overcame"
)
# Words that are too general to tell anything.
VAGUE = _set(
    "thing things something anything everything nothing stuff time times lot lots bit way ways fun"
    " blast experience experiences moment moments idea ideas decision decisions choice choices"
    " feeling feelings progress sense part"
    " day days difference impact it that this them him her me you us great good nice amazing"
    " awesome incredible wonderful fantastic cool big huge little much many more most some any such"
    " quite really so very super pretty long short new old best better hard tough rough crazy wild"
    " quiet busy while again together lately recently well fine okay ok first last week weekend"
    " month year today yesterday night there here back up down out off over point chance"
    " opportunity place one ones step steps look care effort sure job work life people person"
    " someone somebody everyone adventure journey ride ages minute hour hours minutes weeks months"
    " years fact reason question answer deal mood break news know think feel seem happen a an the"
    " my our your his their its i we he she they and or but to of in on at for with from by as had"
    " have has was were been being be got get made make took take went go did do gave give done"
    " came come just also even through about into around away how what which who when where why"
    " than then too all both each every other another same inspired motivated excited happy proud"
    " thankful grateful start started begin began tried try learned learnt going doing getting"
)
# Verbs of habit: "I paint".
PURSUITS = _set(
    "collect write paint draw bake cook run swim bike cycle hike garden knit sew crochet dance sing"
    " meditate journal blog stream coach mentor perform train practice practise exercise jog surf"
    " ski skate climb camp fish box row volunteer craft photograph compose tutor"
)
MAKING = _set(
    "painting drawing writing cooking baking knitting sewing crocheting gardening composing"
    " sculpting sketching"
)
TRAINING = _set(
    "running jogging swimming cycling training exercising lifting stretching meditating practicing"
    " practising"
)
# Verbs of habit if they have an object: "I use a whiteboard to keep track".
ROUTINES = _set(
    "use visit attend organize organise teach watch listen go stick spend travel meet eat drink"
    " wake bring roast tell host grow color-code"
)
# Thoughts and talk, which are not events.
MENTAL = _set(
    "wanted loved liked enjoyed hated needed hoped realized realised decided believed agreed"
    " remembered seemed appreciated guessed noticed considered cared wished worried missed wondered"
    " mentioned used looked sounded turned ended happened reminded tended preferred expected"
    " figured doubted trusted admired struggled dreamed imagined planned excited inspired motivated"
    " interested thrilled stoked overwhelmed blessed surrounded amazed impressed determined"
    " committed relieved tired bored scared worried surprised honored honoured touched moved"
    " married engaged divorced separated retired based settled grateful stressed pleased supposed"
    " scheduled allowed helped need feed indeed speed seed bed red hundred agreed concerned"
    " convinced confused frustrated disappointed exhausted laughed smiled cried called named kept"
    " managed asked explained suggested replied answered thanked welcomed headed experienced"
    " suffered belonged"
)
PARTICIPLES = DEEDS | _set(
    "been had left become grown switched changed turned given quit swapped traded dropped stopped"
    " packed gone felt found fallen decided planned thought wanted loved liked hated enjoyed known"
    " kept lost paid heard told said cut come let split returned cancelled canceled outgrown"
    " recovered developed diagnosed struggled used worked lived joined retired called settled"
    " finally given_up taken_up handed resigned upsized downsized replaced cycled stayed dated seen"
)
