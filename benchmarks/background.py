"""Compute the vector of ordinary text in `search/content.py`; run this file to print it again.

The sentences are about what people tell each other and an assistant: life, work, code, advice.
"""

from __future__ import annotations

import base64

import numpy as np

from lamina.embedders.wordllama import shared

SENTENCES = """\
Hey, how have you been? It has been a while since we last talked.
That sounds great, I am really happy for you!
Thanks so much, that was very helpful. I will try it this weekend.
I have been thinking about what to do after the summer.
My sister and her kids are staying with us until Sunday.
We went hiking in the mountains last month and it rained all day.
I took some photos of the sunset, the view was amazing.
She told me about her new job, and I could hear how excited she was.
What do you usually do when you feel stressed?
I started to paint again, it helps me to relax after work.
We adopted a dog from the shelter, and he already runs the house.
Family and friends mean a lot to me, they kept me going.
I finally finished the book that you recommended.
It was a hard year, but I learned to be kind to myself.
He plays the guitar in a small band, their next show is on Friday.
I am training for a race and run three times a week.
Do you have any tips for somebody who wants to start a garden?
Congratulations! All that hard work has paid off.
I would love to travel more, perhaps to Japan or Portugal.
The kids loved the museum, above all the dinosaurs.
I bought a new pair of shoes because the old ones hurt my feet.
Can you suggest a recipe for dinner with chicken, rice and vegetables?
I usually buy groceries at the market and cook for the whole week.
My doctor told me to drink more water and to sleep eight hours.
I am planning a trip for my birthday, can you help me find a hotel?
How much does it cost to rent a car for a week?
Here are some ideas that you could try, depending on your budget and taste.
First, make a list of your goals. Second, decide how much time you have for each.
It is important to take breaks, to stay organized and to ask for support when you need it.
Remember that everybody is different, so find out what works best for you.
There are several options to consider, each with its own advantages.
I hope this helps! Let me know if you have any other questions.
You are welcome! Enjoy your trip and have a wonderful time.
Could you give me more details about the second option?
I watched a documentary about the history of the city.
The novel tells the story of a young woman who moves to the coast.
Write a short poem about the sea in winter.
Please translate this paragraph into Spanish and keep the tone friendly.
Summarize the main points of the article in a few sentences.
The company was founded in the nineties and has about two hundred employees.
The study shows that regular exercise improves health and memory.
The government announced new rules for energy and transport.
Students should be able to explain the process in their own words.
I am a teacher, and my class has twenty five children.
I need to prepare a presentation for my manager by Tuesday.
We have a meeting with the client tomorrow to talk about the contract.
The deadline moved to the end of the month, so we have to plan the tasks anew.
My salary went up, and I want to save more money every month.
How should I answer an email from a colleague who is upset?
I am looking for a new apartment that is closer to the office.
I'm working on a web application and need to add user login.
Can you help me fix this error in my code? It fails when the list is empty.
Here is how you can implement the function, step by step.
Install the package, create the database and start the server.
The test passes on my machine but not in the pipeline.
We store the data in a table with columns for the name, the date and the price.
To improve performance, cache the results and use an index on the column.
def main(): return the value of the variable, or none if there is no match.
Make sure to handle exceptions and to validate the input of the user.
The response of the API should include a status code and a message.
Deploy the new version on Thursday and watch the logs.
How do I solve this equation, and what does the result mean?
What is the probability that both events happen on the same day?
The model is trained on images and predicts the class of each.
I wrote the introduction of my essay and want to make it sound more natural.
My character in the story is afraid of the dark and hides it.
Which camera would you buy for portraits, and is the lens worth the price?
The car needs new tires before the winter, and the brakes make a noise.
I repaired the bike and cleaned the kitchen this morning.
The cake turned out too dry, next time I will use more butter.
We painted the bedroom blue and moved the desk to the window.
Our team won the game by two points in the last minute.
The concert was sold out, but a friend had a spare ticket.
I am allergic to nuts, so please keep that in mind.
My favourite season is autumn, when the leaves change their colour.
I joined a volunteer group that helps older people with their shopping.
She graduated from university in May and is looking for work.
He was born in a small village and moved to the capital as a child.
The appointment is on the fourth at half past nine.
Bring your passport, a jacket and good shoes.
"""


def background() -> np.ndarray:
    """Average the vectors of all sentences; the length says how alike ordinary texts are."""
    mean: np.ndarray = shared().embed(SENTENCES.splitlines()).mean(axis=0)
    return mean


def packed(vector: np.ndarray) -> str:
    """Write a vector as text: one signed byte for each number, in units of 1/1024."""
    return base64.b64encode(np.round(vector * 1024).astype(np.int8).tobytes()).decode()


if __name__ == "__main__":
    print(packed(background()))
